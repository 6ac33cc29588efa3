"""What a run found out, in one sentence per report and one per ranking; docs/reading.md says more.

A *bug test* is a test that fails because of the bug; *existing tests* are the project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import assert_never

from pytest_brt.answers import answer_issue, answer_ranking
from pytest_brt.render.causes import cause_words
from pytest_brt.render.misses import miss_advice, miss_sentence
from pytest_brt.render.notes import note_sentence
from pytest_brt.render.refusals import refusal_sentence
from pytest_brt.render.remarks import warning_words
from pytest_brt.types import (
    Attempt,
    AttemptNote,
    Contradicted,
    Doubt,
    Ending,
    Evidence,
    Frame,
    Guarded,
    IssueAnswer,
    JudgedTest,
    Lack,
    Leader,
    Level,
    Measured,
    Miss,
    NoLeader,
    NoneFixes,
    NotRun,
    OnlyOne,
    PatchResult,
    Rank,
    RankingAnswer,
    Repair,
    Review,
    RunRecord,
    TestRun,
    Unfinished,
    Verdict,
)
from pytest_brt.types.answer import (
    Advice,
    AskAgain,
    CheckInterpreter,
    CheckVersion,
    LookCloser,
    MendMiss,
    NotHere,
    NotReproduced,
    OtherTests,
    PossiblyReproduced,
    Reproduced,
)
from pytest_brt.types.attempt import WithoutModel
from pytest_brt.types.cause import CannotRun
from pytest_brt.types.fixed import Fix, FixedAmong, FixedBy, FixedHere, NeverSeen

#: What to do about a test that may fail for another reason: where the report says nothing about
#: what is right, and else.
_SAY_WHAT_IS_RIGHT = (
    "it only checks that the reported result is gone; add to the report what should happen "
    "instead, as in '`f(1)` should return `2`'"
)
_ACCEPT = "read the test, and accept it with 'pytest-brt review' if it is right"
_READ_IT = f"the report may mean something else; {_ACCEPT}"
#: What is known of tests of stated values: the fix of a project often gives another one.
_STATED = "as the value that the report states does not come out"
#: What to do where no test runs: the project's own set-up, mostly.
_OTHER_PYTHON = (
    "if the project's own tests do not run with this interpreter either, choose another: "
    "--brt-python"
)
#: What helps a model that was cut short.
_MORE = {
    Ending.TIME: "give the model more time (--brt-budget)",
    Ending.STEPS: "give the model more steps (--brt-steps)",
    Ending.TOKENS: "give the model a larger context (--brt-engine auto,context=N)",
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


def why_no_patch(repairs: Iterable[Repair]) -> str:
    """Return why repairs without a fix came to nothing."""
    dialogues = [repair.trajectory for repair in repairs if repair.trajectory is not None]
    if any(talk.steps for talk in dialogues):
        return "no fix passes the tests"
    if any(talk.ending is Ending.TOKENS for talk in dialogues):
        return f"the first prompt does not fit the model; {_MORE[Ending.TOKENS]}"
    return "no fix was tried"


def tests_of(record: RunRecord, issue: str) -> tuple[JudgedTest, ...]:
    """Return all tests that were considered for a report, and those that were given."""
    made = (test for attempt in record.attempts if attempt.issue == issue for test in attempt.tests)
    return (*made, *record.given)


def ranking_tests_of(record: RunRecord, issue: str) -> tuple[JudgedTest, ...]:
    """Return all tests by which the patches of a report may be ranked, those they brought too."""
    return (*tests_of(record, issue), *(t for t in record.brought if t.test.issue == issue))


def reviewed(tests: Iterable[JudgedTest]) -> str:
    """Return what a person said about tests, as in "you accepted 2 and rejected 1", or ""."""
    said = Counter(test.review for test in tests)
    verbs = {Review.ACCEPTED: "accepted", Review.REJECTED: "rejected"}
    parts = [f"{verb} {said[review]}" for review, verb in verbs.items() if said[review]]
    return f"you {' and '.join(parts)}" if parts else ""


def of_report(attempts: Sequence[Attempt]) -> str:
    """Return whether a report was reproduced, by all attempts at it."""
    return issue_sentence(answer_issue(attempts))


def issue_sentence(answer: IssueAnswer) -> str:
    """Return the answer about a report.

    As in "Reproduced: test_a fails, probably because of this bug (67% sure)."
    """
    match answer:
        case Reproduced(best=name, confidence=confidence, tests=tests, measured=measured):
            best = f"{name} fails, probably because of this bug"
            if tests > 1:
                fail = f"{tests} bug tests fail, probably because of this bug"
                best = f"{fail}; the best is {name}"
            return f"Reproduced: {best} ({how_sure(confidence, None, measured)})."
        case PossiblyReproduced():
            sure = how_sure(answer.confidence, answer.evidence, answer.measured)
            if answer.evidence is Evidence.STATED_VALUE:
                return f"Possibly reproduced: {answer.best} fails, {_STATED} ({sure}); {_ACCEPT}."
            advice = _SAY_WHAT_IS_RIGHT if answer.needs_value else _READ_IT
            return f"Possibly reproduced: {answer.best} fails ({sure}), but {advice}."
        case NotHere(seen=seen, fix=fix):
            return _not_here(seen, fix)
        case NotReproduced(why=why, advice=advice):
            more = "" if advice is None else f"; {advice_words(advice)}"
            return f"Not reproduced: {_because(why)}{more}."
        case _:
            assert_never(answer)


def _not_here(seen: str, fix: Fix | None) -> str:
    """Return that a bug does not show, what is seen instead, and what made it go away."""
    ask = f"{seen[:-1]}; check that this is the version the report is about."
    match fix:
        case FixedBy(commit=commit, about=about, files=files):
            changed = f", which changed {listed(files)}" if files else ""
            return f"Not reproduced here: fixed by {commit} ({about}){changed}. {seen}"
        case FixedAmong(first=first, last=last, commits=commits):
            among = f"one of the {commits} commits from {first} to {last}"
            return f"Not reproduced here: fixed by {among}. {seen}"
        case FixedHere():
            return f"Not reproduced here: fixed by what is not committed yet. {seen}"
        case NeverSeen(revisions=revisions, oldest=oldest):
            tried = "an older revision" if revisions == 1 else f"{revisions} older revisions"
            return f"Not reproduced here, nor in {tried}, back to {oldest}: {ask}"
        case None:
            return f"Not reproduced here: {ask}"
        case _:
            assert_never(fix)


def how_sure(confidence: float, evidence: Evidence | None, measured: Measured | None) -> str:
    """Return how likely a test is right: by what was measured, or as in "67% sure"."""
    if measured is not None:
        were = "was" if measured.right == 1 else "were"
        return f"{measured.right} of {measured.of} such tests {were} right"
    if evidence is Evidence.OWN_TEST:
        return "the reporter's own test; how often these are right was not measured"
    return f"{confidence:.0%} sure"


def _because(why: OtherTests | Miss | AttemptNote | None) -> str:
    if why is None:
        return "no test could be made from the report"
    if isinstance(why, OtherTests):
        return _what_they_do(why)
    if isinstance(why, Miss):
        return miss_sentence(why)
    return note_sentence(why)


def advice_words(advice: Advice) -> str:
    """Return what to do about a report that was not reproduced."""
    match advice:
        case CheckVersion():
            return "check that this is the version the report is about"
        case CheckInterpreter():
            return _OTHER_PYTHON
        case MendMiss(miss=miss):
            return miss_advice(miss)
        case AskAgain(ran_out=ran_out, tried_all=tried_all):
            other = "a larger model ('pytest-brt models')" if tried_all else "--brt-strategy auto"
            return ", or ".join([*(_MORE[ending] for ending in ran_out), f"try {other}"])
        case WithoutModel(said=said):
            return said
        case LookCloser():
            return "see -v"
        case _:
            assert_never(advice)


def _what_they_do(tests: OtherTests) -> str:
    """Return what tests that are no bug tests do, as in "both tests made from it are flaky"."""
    total = sum(count.tests for count in tests.verdicts)
    does = [
        (count.tests, _WORDS.get(count.verdict, (count.verdict, count.verdict))[count.tests > 1])
        for count in tests.verdicts
    ]
    if len(does) > 1:
        what = listed([f"{number} {words}" for number, words in does])
        return f"of {total} tests made from the report, {what}"
    made = "the only test" if total == 1 else "both tests" if total == 2 else f"all {total} tests"
    return f"{made} made from the report {does[0][1]}{_first_cause(tests)}"


def _first_cause(tests: OtherTests) -> str:
    match tests.cause:
        case None:
            return ""
        case CannotRun(said=said):
            return f": {said}" if said else ""
        case cause:
            return f": {cause_words(cause, tests.raised)}"


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
    if result.refused is not None:
        return refusal_sentence(result.refused)
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
    if not answer.existing:
        return (
            f"No patch stands out: the bug tests contradict each other. {listed(answer.bug_tests)} "
            "pass on different patches and on none together: read them; one asks for something "
            "wrong."
        )
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
    """Return a number of things, as in "1 bug test", "2 bug tests" or "2 patches"."""
    ending = "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{ending}"
