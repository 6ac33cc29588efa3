"""What a run found out → the entries of its report: the only place where both are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile

from pytest_brt.answers import answer_issue, answer_ranking
from pytest_brt.render.answer import (
    how_sure,
    issue_headline,
    issue_sentence,
    place_of,
)
from pytest_brt.render.causes import cause_words, run_words, shortfall_words
from pytest_brt.render.disputes import dispute_sentence
from pytest_brt.render.fixes import fix_words
from pytest_brt.render.notes import attempt_words, name_of, notes_beside, warnings
from pytest_brt.render.ranking import does, existing, ranking_headline, ranking_sentence
from pytest_brt.render.refusals import refusal_sentence
from pytest_brt.render.remarks import remark_sentence
from pytest_brt.render.report import (
    AttemptEntry,
    Dialogue,
    ExistingTests,
    Failure,
    FixEntry,
    IssueEntry,
    Outcome,
    PatchEntry,
    Ranking,
    RepairEntry,
    Report,
    Setting,
    TestEntry,
)
from pytest_brt.render.values import telling_sentence, values
from pytest_brt.types import (
    Attempt,
    Cell,
    FailsBefore,
    FoundFix,
    Frame,
    Guarded,
    Issue,
    JudgedTest,
    PatchResult,
    Rank,
    Regression,
    Repair,
    RunRecord,
    Standing,
    TestRun,
    Verdict,
)


def build_report(
    record: RunRecord,
    setting: Setting,
    exit_code: int,
    selected: Mapping[str, Sequence[Rank]] | None = None,
) -> Report:
    """Return the report of a run; `selected` are the patches that each option selects."""
    rankings = dict.fromkeys(rank.result.issue for rank in record.ranks)
    rankings |= dict.fromkeys(lacking.issue for lacking in record.not_run)
    return Report(
        setting=setting,
        exit_code=exit_code,
        issues=tuple(_issue_entry(issue, record.attempts) for issue in record.issues),
        tests=_test_entries(record),
        rankings=tuple(_ranking(record, issue, selected or {}) for issue in rankings),
        repairs=tuple(
            repair_entry(repair, name_of(repair, record.repairs)) for repair in record.repairs
        ),
        places=record.localised,
    )


# -- reports, attempts and tests --------------------------------------------------------------


def _issue_entry(issue: Issue, attempts: Sequence[Attempt]) -> IssueEntry:
    made = [attempt for attempt in attempts if attempt.issue == issue.id]
    answer = answer_issue(made) if made else None
    return IssueEntry(
        id=issue.id,
        title=issue.title,
        source=issue.source,
        text=issue.text,
        answer=answer,
        verdict=issue_sentence(answer) if answer else "",
        headline=issue_headline(answer) if answer else "",
        warnings=tuple(warnings(made)),
        notes=tuple(notes_beside(made, answer)),
        attempts=tuple(attempt_entry(attempt, name_of(attempt, made)) for attempt in made),
    )


def attempt_entry(attempt: Attempt, name: str) -> AttemptEntry:
    """Return how one run of one strategy went."""
    return AttemptEntry(
        issue=attempt.issue,
        name=name,
        strategy=attempt.strategy,
        index=attempt.index,
        tests=len(attempt.tests),
        candidates=sum(judged.judgement.candidate for judged in attempt.tests),
        seconds=round(attempt.seconds, 3),
        cost=attempt.cost,
        misses=attempt.misses,
        remarks=attempt.notes,
        notes=tuple(attempt_words(attempt)),
        dialogues=tuple(
            Dialogue(
                steps=len(talk.steps),
                actions=tuple(step.action for step in talk.steps),
                ending=talk.ending,
                reason=talk.reason,
            )
            for talk in attempt.trajectories
        ),
    )


def _test_entries(record: RunRecord) -> tuple[TestEntry, ...]:
    made = [
        judged_entry(judged, attempt.issue)
        for attempt in record.attempts
        for judged in attempt.tests
    ]
    given = [judged_entry(judged, judged.test.issue, given=True) for judged in record.given]
    brought = [judged_entry(judged, judged.test.issue) for judged in record.brought]
    first = {judged.test.id for judged in record.tests if judged.test.is_reporters}
    return tuple(
        sorted(
            (*made, *given, *brought),
            key=lambda test: (
                not test.candidate,
                not test.counts,
                test.candidate and test.id not in first,
                -test.confidence,
            ),
        )
    )


def judged_entry(judged: JudgedTest, issue: str, *, given: bool = False) -> TestEntry:
    """Return a test, and what is known of it."""
    test, judgement = judged.test, judged.judgement
    return TestEntry(
        id=test.id,
        name=test.name,
        issue=issue,
        given=given,
        strategy=test.origin.strategy,
        author=test.origin.author,
        model=test.origin.model,
        brought_by=test.origin.patches,
        oracle=test.oracle.kind,
        sentence=test.oracle.sentence,
        quote=test.oracle.quote,
        file=test.path,
        host=test.host,
        source=test.source,
        candidate=judgement.candidate,
        counts=judgement.counts,
        reproduces=judgement.reproduces,
        evidence=judgement.evidence,
        measured=judgement.measured,
        confidence=round(judgement.confidence, 3),
        sure=how_sure(judgement.confidence, judgement.evidence, judgement.measured),
        verdict=judgement.verdict,
        reason=judgement.reason,
        failure=_failure(judgement.runs[0]) if judgement.runs else None,
        review=judged.review,
        agree=judgement.agree,
        samples=judgement.samples,
    )


def _failure(run: TestRun) -> Failure:
    raised = run.raised
    if raised is not None:
        # What lies before the first frame of the tree is how pytest came there.
        raised = replace(raised, frames=tuple(dropwhile(_is_outside, raised.frames)))
    return Failure(reason=run_words(run), at=place_of(run), raised=raised)


def _is_outside(frame: Frame) -> bool:
    return frame.path.startswith(("/", "<"))


# -- patches ----------------------------------------------------------------------------------


def _ranking(record: RunRecord, issue: str, selected: Mapping[str, Sequence[Rank]]) -> Ranking:
    ranks = [rank for rank in record.ranks if rank.result.issue == issue]
    not_run = next((lacking for lacking in record.not_run if lacking.issue == issue), None)
    answer = answer_ranking(ranks, not_run)
    patches = tuple(
        patch_entry(rank.result, rank, place)
        for rank, place in zip(ranks, places(ranks), strict=True)
    )
    disputes = tuple(dispute for dispute in record.disputes if dispute.issue == issue)
    tellings = tuple(telling for telling in record.tellings if telling.issue == issue)
    return Ranking(
        issue=issue,
        answer=answer,
        verdict=ranking_sentence(answer, ranks),
        headline=ranking_headline(answer),
        patches=patches,
        not_run=not_run,
        selected={
            option: tuple(rank.name for rank in chosen if rank.result.issue == issue)
            for option, chosen in selected.items()
        },
        disputes=disputes,
        tellings=tellings,
        notes=(
            *existing(ranks),
            *map(dispute_sentence, disputes),
            *map(telling_sentence, tellings),
            *values(patches),
        ),
    )


def places(ranks: Sequence[Rank]) -> Iterator[tuple[int, int] | None]:
    """Yield the first and last rank that each patch may have; those that tie share theirs."""
    tied: list[int] = []
    for rank in ranks:
        if rank.place is not None and rank.standing is Standing.TIED:
            tied += rank.place, rank.place + len(rank.placed_with)
    for rank in ranks:
        if rank.place is None:
            yield None
        elif rank.standing is Standing.TIED:
            yield min(tied), max(tied)
        else:
            yield rank.place, rank.place + len(rank.placed_with)


def patch_entry(
    result: PatchResult, rank: Rank | None = None, place: tuple[int, int] | None = None
) -> PatchEntry:
    """Return a patch and what was run on it; with its `rank`, where it stands."""
    entry = PatchEntry(
        name=result.patch.name,
        id=result.patch.id,
        issue=result.issue,
        source=result.patch.source,
        diff=result.patch.text,
        size=result.size,
        applies=result.applies,
        refused=result.refused,
        refusal=refusal_sentence(result.refused) if result.refused else "",
        remarks=result.remarks,
        note=_note(result, rank),
        cells=tuple(map(_outcome, result.cells)),
        own_cells=tuple(map(_outcome, result.own_cells)),
        existing=_existing(result.guarded),
        values=result.values,
        seconds=round(result.seconds, 3),
    )
    if rank is None:
        return entry
    return replace(
        entry,
        place=place,
        passed=rank.passed,
        total=rank.total,
        does=does(rank),
        epr=_rounded(rank.epr, 6),
        score=_rounded(rank.score, 6),
        interval=rank.interval and (round(rank.interval[0], 4), round(rank.interval[1], 4)),
        standing=rank.standing,
        group=rank.group,
        copies=rank.copies,
        because=rank.because,
    )


def _note(result: PatchResult, rank: Rank | None) -> str:
    """Return what is to be said about a patch besides figures."""
    if result.refused is not None:
        return refusal_sentence(result.refused)
    parts = []
    if rank is not None and rank.epr is None:
        parts.append("no bug test could be run on it")
        why = {run_words(cell) for cell in result.cells if cell.verdict is Verdict.INVALID}
        if len(why) == 1:
            parts += why
    if rank is not None and rank.standing is Standing.CLOSE and rank.place != 1:
        parts.append("too close to the first to call")
    if rank is not None and rank.copies:
        parts.append(f"same as {', '.join(rank.copies)}")
    if result.regressions:
        parts.append(f"breaks {result.regressions[0].test}")
    return "; ".join([*parts, *map(remark_sentence, result.remarks)])


def _existing(guarded: Guarded | None) -> ExistingTests | None:
    if guarded is None:
        return None
    return ExistingTests(
        ran=guarded.ran,
        total=guarded.total,
        reached=guarded.reached,
        chosen_by=guarded.by,
        broken=tuple(map(_existing_outcome, guarded.regressions)),
        disputed=tuple(disputed.test for disputed in guarded.disputed),
        failing_before=tuple(map(_existing_outcome, guarded.failing)),
        shortfalls=guarded.shortfalls,
        cut=", ".join(map(shortfall_words, guarded.shortfalls)),
        seconds=round(guarded.seconds, 3),
    )


def _outcome(cell: Cell) -> Outcome:
    return Outcome(test=cell.test, verdict=cell.verdict, cause=cell.cause, reason=run_words(cell))


def _existing_outcome(failed: Regression | FailsBefore) -> Outcome:
    return Outcome(
        test=failed.test,
        verdict=failed.verdict if isinstance(failed, Regression) else Verdict.FAIL,
        cause=failed.cause,
        reason=cause_words(failed.cause, failed.raised),
    )


# -- repairs ----------------------------------------------------------------------------------


def repair_entry(repair: Repair, name: str) -> RepairEntry:
    """Return what one run of one repair strategy found."""
    dialogue = repair.trajectory
    return RepairEntry(
        issue=repair.issue,
        name=name,
        strategy=repair.strategy,
        index=repair.index,
        given=repair.brt or None,
        seconds=round(repair.seconds, 3),
        steps=len(dialogue.steps) if dialogue else 0,
        ending=dialogue.ending if dialogue else None,
        cost=repair.cost,
        notes=repair.notes,
        fixes=tuple(map(_fix_entry, repair.fixes)),
    )


def _fix_entry(fix: FoundFix) -> FixEntry:
    return FixEntry(
        patch=fix.patch.name,
        source=fix.source,
        plausible=fix.plausible,
        passed=fix.passed,
        total=fix.total,
        does=fix_words(fix),
        hypothesis=fix.hypothesis,
        existing=_existing(fix.guarded),
        diff=fix.patch.text,
    )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
