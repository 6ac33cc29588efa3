"""What the results of a run come to, as facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_brt.types import (
    Attempt,
    AttemptNote,
    Ending,
    IssueAnswer,
    JudgedTest,
    Lack,
    Leader,
    Level,
    NoLeader,
    NoneFixes,
    NoTestReason,
    NotRun,
    OnlyOne,
    OracleKind,
    Rank,
    RankingAnswer,
    Standing,
    Unfinished,
    Verdict,
)
from pytest_brt.types.answer import (
    Advice,
    AskAgain,
    CheckInterpreter,
    CheckVersion,
    LookCloser,
    Mend,
    NotHere,
    NotReproduced,
    OtherTests,
    PossiblyReproduced,
    Reproduced,
)
from pytest_brt.types.attempt import NotTried, VerdictCount, WithoutModel


def bug_tests(tests: Iterable[JudgedTest]) -> tuple[tuple[JudgedTest, ...], tuple[JudgedTest, ...]]:
    """Return the bug tests that count, and the others, which are less certain; best first."""
    candidates = (test for test in tests if test.judgement.candidate)
    failing = sorted(candidates, key=lambda judged: -judged.judgement.confidence)
    sure = tuple(test for test in failing if test.judgement.counts)
    return sure, tuple(test for test in failing if not test.judgement.counts)


def answer_issue(attempts: Sequence[Attempt]) -> IssueAnswer:
    """Return whether a report was reproduced, by all attempts at it."""
    sure, possible = bug_tests(test for attempt in attempts for test in attempt.tests)
    said = next((test for test in sure if test.judgement.reproduces), None)
    if said is not None:
        return Reproduced(
            best=said.test.name,
            confidence=said.judgement.confidence,
            tests=len(sure),
            measured=said.judgement.measured,
        )
    best = next(iter((*sure, *possible)), None)
    if best is not None:
        kinds = [test.test.oracle.kind for test in (*sure, *possible)]
        return PossiblyReproduced(
            best=best.test.name,
            confidence=best.judgement.confidence,
            needs_value=kinds[0].sees_wrong_value and OracleKind.EQUALS not in kinds,
            evidence=best.judgement.evidence,
            measured=best.judgement.measured,
        )
    for attempt in attempts:
        for judged in attempt.settled:
            return NotHere(seen=judged.test.oracle.sentence, fix=attempt.fix)
    return _not_reproduced(attempts)


def _not_reproduced(attempts: Sequence[Attempt]) -> NotReproduced:
    tests = [test for attempt in attempts for test in attempt.tests]
    verdicts = Counter(item.judgement.verdict for item in tests if not _is_start(item))
    counts = tuple(VerdictCount(verdict=it, tests=many) for it, many in verdicts.most_common())
    if not any(item.test.origin.model for item in tests):
        if set(verdicts) == {Verdict.PASS}:
            return NotReproduced(why=OtherTests(verdicts=counts), advice=CheckVersion())
        if set(verdicts) == {Verdict.BROKEN}:
            run = tests[0].judgement.runs[0]
            broken = OtherTests(verdicts=counts, cause=run.cause, raised=run.raised_briefly)
            return NotReproduced(why=broken, advice=CheckInterpreter())
    advice = _advice(attempts)
    if counts:
        return NotReproduced(why=OtherTests(verdicts=counts), advice=advice or LookCloser())
    reasons = [*_reasons(attempts)]
    if not reasons and isinstance(advice, WithoutModel):
        return NotReproduced(why=advice, advice=None)
    return NotReproduced(why=next(iter(reasons), None), advice=advice)


def _is_start(item: JudgedTest) -> bool:
    """Say whether a test pins what happens now: `invert` turns it round afterwards."""
    return item.test.origin.strategy == "invert" and item.judgement.verdict is Verdict.PASS


def _reasons(attempts: Sequence[Attempt]) -> Iterator[NoTestReason | AttemptNote]:
    for attempt in attempts:
        yield from attempt.misses
        yield from (note for note in attempt.notes if not isinstance(note, WithoutModel))


def _advice(attempts: Sequence[Attempt]) -> Advice | None:
    """Return what to do about a miss; None where nothing is known to help."""
    for attempt in attempts:
        for reason in attempt.misses:
            if reason.hint:
                return Mend(hint=reason.hint)
    for attempt in attempts:
        for note in attempt.notes:
            if isinstance(note, WithoutModel):
                return note
    asked = [one for one in attempts if one.cost.calls or one.trajectories or one.endings]
    return _ask_again(asked) if asked else None


def _ask_again(asked: Sequence[Attempt]) -> AskAgain:
    """Return what may do better than a model that found nothing."""
    ran_out = {
        ending
        for one in asked
        for ending in (*(talk.ending for talk in one.trajectories), *one.endings)
        # Of a sample it means that its answer was too long; only the agent has steps to give.
        if not (ending is Ending.TOKENS and one.endings)
        and not (ending is Ending.STEPS and one.strategy != "agent")
    }
    if any(isinstance(note, NotTried) for one in asked for note in one.notes):
        ran_out.add(Ending.TIME)
    more = (Ending.TIME, Ending.STEPS, Ending.TOKENS)
    return AskAgain(
        ran_out=tuple(ending for ending in more if ending in ran_out),
        tried_all=any(one.strategy == "auto" for one in asked),
    )


def answer_ranking(ranks: Sequence[Rank], not_run: NotRun | None = None) -> RankingAnswer:
    """Return what a ranking, best first, says about its patches.

    Without the patches that it lacks, `not_run`, there is no answer.
    """
    if not_run is not None:
        return Unfinished(missing=len(not_run.patches), of=not_run.of)
    tried = [rank for rank in ranks if rank.epr is not None or rank.score is not None]
    if any(rank.passed for rank in tried):
        return _leading(tried)
    if any(rank.result.passes_own for rank in ranks):
        return NoneFixes(lack=Lack.OWN_TESTS)
    if any(rank.epr is not None for rank in tried):
        return NoneFixes(lack=Lack.NONE_PASSES)
    is_ordered = not tried and any(rank.place for rank in ranks)
    return NoneFixes(lack=Lack.NO_BUG_TEST if is_ordered else Lack.NO_TEST_RAN)


def _leading(tried: Sequence[Rank]) -> RankingAnswer:
    leader = tried[0]
    if len(tried) == 1 + len(leader.copies):
        return OnlyOne(patch=leader.name)
    if leader.standing is Standing.TIED:
        return NoLeader(patches=_level_with(leader, tried), level=Level.TESTS)
    if leader.standing is Standing.CLOSE:
        return NoLeader(patches=_level_with(leader, tried), level=Level.ODDS)
    if leader.standing is Standing.UNSURE:
        return Leader(patch=leader.name, doubt=leader.doubt)
    return Leader(patch=leader.name)


def _level_with(leader: Rank, tried: Sequence[Rank]) -> tuple[str, ...]:
    return tuple(
        rank.name
        for rank in tried
        if rank.standing is leader.standing and rank.name not in leader.copies
    )
