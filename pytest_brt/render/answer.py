"""What a run found out, in one sentence per report and one per ranking; docs/reading.md says more.

A *bug test* is a test that fails because of the bug; *existing tests* are the project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import assert_never

from pytest_brt.answers import answer_ranking
from pytest_brt.render.remarks import warning_words
from pytest_brt.types import (
    Attempt,
    Contradicted,
    Doubt,
    Ending,
    Frame,
    Guarded,
    JudgedTest,
    Lack,
    Leader,
    Level,
    NoLeader,
    NoneFixes,
    NotRun,
    OnlyOne,
    OracleKind,
    PatchResult,
    Rank,
    RankingAnswer,
    Review,
    RunRecord,
    TestRun,
    Unfinished,
    Verdict,
)

#: What to do about a test that may fail for another reason: where the report says nothing about
#: what is right, and else.
_SAY_WHAT_IS_RIGHT = (
    "it only checks that the reported result is gone; add to the report what should happen "
    "instead, as in '`f(1)` should return `2`'"
)
_READ_IT = (
    "the report may mean something else; read the test, and accept it with 'pytest-brt review' if "
    "it is right"
)
#: What to do where no test runs: the project's own set-up, mostly.
_OTHER_PYTHON = (
    "if the project's own tests do not run with this interpreter either, choose another: "
    "--brt-python"
)
#: Begins a note on what an attempt had no time for.
MORE_TIME = "more time (--brt-budget)"
#: What helps a model that was cut short.
_MORE = {
    Ending.TIME: "give the model more time (--brt-budget)",
    Ending.STEPS: "give the model more steps (--brt-steps)",
    Ending.TOKENS: "give the model a larger context (--brt-context)",
}
#: What one test does, and what several do.
_WORDS = {
    Verdict.PASS: ("passes on this tree", "pass on this tree"),
    Verdict.FAIL: ("fails for another reason", "fail for another reason"),
    Verdict.BROKEN: ("cannot be run", "cannot be run"),
    Verdict.TIMEOUT: ("takes too long", "take too long"),
    Verdict.CRASH: ("crashes the interpreter", "crash the interpreter"),
    Verdict.FLAKY: ("is flaky", "are flaky"),
    Verdict.SKIP: ("is skipped", "are skipped"),
}


def tests_of(record: RunRecord, issue: str) -> tuple[JudgedTest, ...]:
    """Return all tests that were considered for a report, and those that were given."""
    made = (test for attempt in record.attempts if attempt.issue == issue for test in attempt.tests)
    return (*made, *record.given)


def bug_tests(tests: Iterable[JudgedTest]) -> tuple[tuple[JudgedTest, ...], tuple[JudgedTest, ...]]:
    """Return the bug tests, and the possible ones, which are less certain; best first."""
    failing = sorted(
        (test for test in tests if test.judgement.candidate),
        key=lambda test: -test.judgement.confidence,
    )
    sure = tuple(test for test in failing if test.judgement.reproduces)
    return sure, tuple(test for test in failing if not test.judgement.reproduces)


def reviewed(tests: Iterable[JudgedTest]) -> str:
    """Return what a person said about tests, as in "you accepted 2 and rejected 1", or ""."""
    said = Counter(test.review for test in tests)
    verbs = {Review.ACCEPTED: "accepted", Review.REJECTED: "rejected"}
    parts = [f"{verb} {said[review]}" for review, verb in verbs.items() if said[review]]
    return f"you {' and '.join(parts)}" if parts else ""


def of_report(attempts: Sequence[Attempt]) -> str:
    """Return whether a report was reproduced, by all attempts at it.

    As in "Reproduced: test_a fails, probably because of this bug (67% sure)."
    """
    sure, possible = bug_tests(test for attempt in attempts for test in attempt.tests)
    if sure:
        best = f"{sure[0].test.name} fails, probably because of this bug"
        if len(sure) > 1:
            fail = f"{len(sure)} bug tests fail, probably because of this bug"
            best = f"{fail}; the best is {sure[0].test.name}"
        return f"Reproduced: {best} ({how_sure(sure[0])})."
    if possible:
        test = possible[0].test
        vague = test.oracle.kind.sees_wrong_value and test.oracle.kind is not OracleKind.EQUALS
        advice = _SAY_WHAT_IS_RIGHT if vague else _READ_IT
        sureness = how_sure(possible[0])
        return f"Possibly reproduced: {test.name} fails ({sureness}), but {advice}."
    because, advice = _miss(attempts)
    return f"Not reproduced: {because}{f'; {advice}' if advice else ''}."


def how_sure(judged: JudgedTest) -> str:
    """Return how likely a test is right, as in "67% sure"."""
    return f"{judged.judgement.confidence:.0%} sure"


def _miss(attempts: Sequence[Attempt]) -> tuple[str, str]:
    """Return why no test was found, and what to do about it."""
    # `auto` says whose note it is.
    notes = [note.removeprefix("replay: ") for attempt in attempts for note in attempt.notes]
    advice = next((note for note in notes if note.startswith("add to the report")), "")
    verdicts = Counter(
        item.judgement.verdict
        for attempt in attempts
        for item in attempt.tests
        # That is what it pins before it turns it round.
        if (item.test.origin.strategy, item.judgement.verdict) != ("invert", Verdict.PASS)
    )
    of_model = any(item.test.origin.model for attempt in attempts for item in attempt.tests)
    if set(verdicts) == {Verdict.PASS} and not of_model:
        return _what_they_do(verdicts), "check that this is the version the report is about"
    if set(verdicts) == {Verdict.BROKEN} and not of_model:
        return f"{_what_they_do(verdicts)}: {_first_reason(attempts)}", _OTHER_PYTHON
    trouble = next((attempt.trouble for attempt in attempts if attempt.trouble), "")
    advice = advice or trouble or _next_try(attempts)
    if verdicts:
        return _what_they_do(verdicts), advice or "see -v"
    reasons = [note for note in notes if not note.startswith(("found ", "add to the report"))]
    if not reasons and trouble:
        return trouble, ""
    return next(iter(reasons), "no test could be made from the report"), advice


def _first_reason(attempts: Sequence[Attempt]) -> str:
    """Return why the first test could not be run."""
    judgements = (item.judgement for attempt in attempts for item in attempt.tests)
    return next(judgements).reason.removeprefix("cannot be run: ")


def _next_try(attempts: Sequence[Attempt]) -> str:
    """Return what may do better than a model that found nothing, "" where none was asked."""
    asked = [one for one in attempts if one.cost.calls or one.trajectories or one.endings]
    ends = {
        ending
        for one in asked
        for ending in (*(talk.ending for talk in one.trajectories), *one.endings)
        # Of a sample it means that its answer was too long; only the agent has steps to give.
        if not (ending is Ending.TOKENS and one.endings)
        and not (ending is Ending.STEPS and one.strategy != "agent")
    }
    if not asked:
        return ""
    if any(note.startswith(MORE_TIME) for one in asked for note in one.notes):
        ends.add(Ending.TIME)
    auto = any(one.strategy == "auto" for one in asked)
    other = "a larger model ('pytest-brt models')" if auto else "--brt-strategy auto"
    return ", or ".join([*(words for end, words in _MORE.items() if end in ends), f"try {other}"])


def _what_they_do(verdicts: Counter[Verdict]) -> str:
    """Return what tests that are no bug tests do, as in "both tests made from it are flaky"."""
    total = verdicts.total()
    does = [
        (number, _WORDS.get(verdict, (verdict, verdict))[number > 1])
        for verdict, number in verdicts.most_common()
    ]
    if len(does) > 1:
        what = listed([f"{number} {words}" for number, words in does])
        return f"of {total} tests made from the report, {what}"
    made = "the only test" if total == 1 else "both tests" if total == 2 else f"all {total} tests"
    return f"{made} made from the report {does[0][1]}"


def place_of(run: TestRun) -> str:
    """Return the last place in the project that a failure came through, and its variables.

    As in "at pkg/core.py:12 in divide, where a = 1, b = 0"; "" when the exception was raised
    by the test itself.
    """
    if run.raised is None:
        return ""
    # What lies before the test's own frame is the project too where that is pytest itself.
    inner = takewhile(lambda frame: not _is_test(frame), reversed(run.raised.frames))
    frames = [frame for frame in inner if frame.project]
    if not frames:
        return ""
    values = ", ".join(f"{name} = {value}" for name, value in run.raised.values)
    last = frames[0]
    where = f"at {last.path}:{last.line} in {last.function}"
    return f"{where}, where {values}" if values else where


def _is_test(frame: Frame) -> bool:
    return not frame.project and not frame.path.startswith(("/", "<"))


# -- patches ----------------------------------------------------------------------------------


def shortcoming(result: PatchResult, trusted: Mapping[str, bool]) -> str:
    """Return why a patch does not fix the bug, "" when everything that ran says that it does.

    `trusted` has the ids of the failing tests, and whether each surely is a bug test. Where some
    are sure, only those count.
    """
    if not result.applies:
        return result.reason
    sure = {test for test, is_sure in trusted.items() if is_sure} or set(trusted)
    cells = [c for c in result.cells if c.test in sure and c.verdict is not Verdict.INVALID]
    failing = sum(cell.verdict is not Verdict.PASS for cell in cells)
    parts = [f"fails {failing} of {count(len(cells), 'bug test')}"] if failing else []
    if result.guarded is not None and result.regressions:
        parts.append(breaks(result.guarded))
    return " and ".join(parts)


def of_ranking(ranks: Sequence[Rank], not_run: NotRun | None = None) -> str:
    """Return a ranking's answer in one or two sentences."""
    return ranking_sentence(answer_ranking(ranks, not_run), ranks)


def ranking_sentence(answer: RankingAnswer, ranks: Sequence[Rank]) -> str:
    """Return the answer of a ranking in one or two sentences; `ranks` say what each patch does."""
    by_name = {rank.name: rank for rank in ranks}
    match answer:
        case Leader(patch=name, doubt=None, by_bug_tests_alone=True):
            return f"First by bug tests alone: {_as_one(by_name[name])}: {does(by_name[name])}."
        case Leader(patch=name, doubt=Doubt() as doubt):
            did = does(by_name[name])
            return f"Possibly {_as_one(by_name[name])}: {did}, but {doubt_clause(doubt)}."
        case Leader(patch=name):
            return f"Best: {_as_one(by_name[name])}: {does(by_name[name])}."
        case NoLeader(patches=names, level=level):
            return f"No patch stands out: {_level(level, [by_name[name] for name in names])}."
        case OnlyOne(patch=name):
            return f"Only {_as_one(by_name[name])} could be tried: it {does(by_name[name])}."
        case NoneFixes(lack=lack):
            return f"No patch stands out: {_LACKS[lack]}"
        case Contradicted():
            return _contradiction(answer)
        case Unfinished(missing=missing, of=total):
            were = "was" if missing == 1 else "were"
            return f"No answer yet: {missing} of {total} patches {were} not run."
        case _:
            assert_never(answer)


_LACKS = {
    Lack.NO_BUG_TEST: (
        "there is no bug test. They are ordered by the existing tests they break, and by how many "
        "others change the same code."
    ),
    Lack.NO_TEST_RAN: "no bug test could be run on a patch.",
    Lack.NONE_PASSES: "none passes a bug test.",
}


def doubt_clause(doubt: Doubt) -> str:
    """Return why a leading patch does not lead clearly, as in "it breaks existing tests"."""
    match doubt:
        case Doubt.NO_SURE_TEST:
            return "it passes no sure bug test"
        case Doubt.BREAKS_TESTS:
            return "it breaks existing tests"
        case Doubt.NO_EXISTING_TESTS:
            return "no existing test ran on it"
        case _:
            assert_never(doubt)


def _contradiction(answer: Contradicted) -> str:
    existing = listed(answer.existing[:3])
    if len(answer.existing) > 3:
        existing = f"{', '.join(answer.existing[:3])} and {len(answer.existing) - 3} more"
    return (
        f"No patch stands out: bug tests and existing tests contradict each other. Every patch "
        f"that passes {listed(answer.bug_tests)} breaks {existing}: read these tests; one side "
        "asserts the bug."
    )


def _as_one(rank: Rank) -> str:
    """Return a patch's name, with those of its copies."""
    alike = f" ({listed(rank.copies)}: the same patch)" if rank.copies else ""
    return f"{_called(rank)}{alike}"


def _level(level: Level, ranks: Sequence[Rank]) -> str:
    match level:
        case Level.BUG_TESTS:
            names = [_called(ranks[0]), *(rank.name for rank in ranks[1:])]
            return f"{listed(names)} pass the same tests"
        case Level.BEHAVIOUR:
            like = "behave alike in everything that ran"
        case Level.ODDS:
            like = "are too close to call"
        case _:
            assert_never(level)
    return f"{listed([_called(rank) for rank in ranks])} {like}: {_what_each_does(ranks)}"


def _what_each_does(level: Sequence[Rank]) -> str:
    """Return what patches do: once where it is the same, but for how many existing tests ran."""
    if len({does(rank) for rank in level}) == 1:
        return f"each {does(level[0])}"
    found = [rank.result.guarded for rank in level if rank.result.guarded]
    ran = sorted(guarded.ran for guarded in found)
    passed = {rank.passed for rank in level}
    broken = len(found) < len(level) or any(guarded.regressions for guarded in found)
    if len(passed) == 1 and not broken and ran[0]:
        tests = f"passes {level[0].passed} of {count(level[0].total, 'bug test')}"
        return f"each {tests} and breaks no existing test ({ran[0]} to {ran[-1]} ran)"
    return "; ".join(f"{_called(rank)} {does(rank)}" for rank in level[:3])


def does(rank: Rank) -> str:
    """Return what a patch does: "passes 4 of 4 bug tests and breaks 1 of 9 existing tests"."""
    return what_it_does(rank.passed, rank.total, rank.result.guarded)


def what_it_does(passed: int, total: int, guarded: Guarded | None) -> str:
    """Return `does` of a patch that need not be ranked: bug tests it passes, and existing tests."""
    tests = f"passes {passed} of {count(total, 'bug test')}"
    if guarded is None:
        return f"{tests} (no existing test ran)"
    if not guarded.total:
        return f"{tests} (the project has no existing tests)"
    return f"{tests} and {breaks(guarded)}"


def breaks(guarded: Guarded) -> str:
    """Return what a patch does to the existing tests, as in "breaks none of 43 existing tests"."""
    broken, ran = len(guarded.regressions), guarded.ran
    if ran > 1:
        return f"breaks {broken or 'none'} of {ran} existing tests"
    return f"breaks {'the only' if broken else 'no'} existing test ({ran or 'none'} ran)"


def _called(rank: Rank) -> str:
    """Return a patch's name, with a word of warning where its code gives reason for one."""
    warnings = filter(None, map(warning_words, rank.result.remarks))
    warning = next(warnings, "")
    return f"{rank.name} ({warning}: read it)" if warning else rank.name


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def count(number: int, noun: str) -> str:
    """Return a number of things, as in "1 bug test" or "2 bug tests"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
