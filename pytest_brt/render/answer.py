"""Whether a report was reproduced, in one sentence, and why not; docs/reports.md says more.

A *bug test* is a test that fails because of the bug; *existing tests* are the project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from typing import assert_never

from pytest_brt.render.notes import note_sentence
from pytest_brt.render.words import listed
from pytest_brt.types import (
    AttemptNote,
    Ending,
    Evidence,
    Frame,
    IssueAnswer,
    JudgedTest,
    Measured,
    NoTestReason,
    Review,
    TestRun,
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
from pytest_brt.types.attempt import WithoutModel
from pytest_brt.types.fixed import Fix, FixedAmong, FixedBy, FixedHere, NeverSeen

#: What to do about a test that may fail for another reason: where the report says nothing about
#: what is right, and else.
_SAY_WHAT_IS_RIGHT = (
    "it only checks that the reported result is gone; add to the report what should happen "
    "instead, as in '`f(1)` should return `2`'"
)
_ACCEPT = "read the test, and accept it with 'pytest-brt review' if it is right"
_READ_IT = f"the report may mean something else; {_ACCEPT}"
#: How tests of stated values fail: the fix of a project often gives another value.
_STATED = "it does not return the value the report expects"
#: What to do where no test runs: the project's own set-up, mostly.
_OTHER_PYTHON = (
    "if the project's own tests do not run with this interpreter either, choose another: "
    "--brt-python"
)
#: What helps a model that was cut short.
MORE = {
    Ending.TIME: "give the model more time (--brt-budget)",
    Ending.STEPS: "give the model more steps (--brt-steps)",
    Ending.TOKENS: "give the model a larger context (--brt-model MODEL,context=N)",
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


def reviewed(tests: Iterable[JudgedTest]) -> str:
    """Return what a person said about tests, as in "you accepted 2 and rejected 1", or ""."""
    said = Counter(test.review for test in tests)
    verbs = {Review.ACCEPTED: "accepted", Review.REJECTED: "rejected"}
    parts = [f"{verb} {said[review]}" for review, verb in verbs.items() if said[review]]
    return f"you {' and '.join(parts)}" if parts else ""


def issue_sentence(answer: IssueAnswer) -> str:
    """Return the answer about a report.

    As in "Reproduced: test_a fails, probably because of this bug (85% sure)."
    """
    return "".join(issue_words(answer))


def issue_words(answer: IssueAnswer) -> tuple[str, str]:
    """Return how the answer about a report begins, and how it goes on."""
    match answer:
        case Reproduced(best=name, tests=tests):
            best = f"{name} fails, probably because of this bug"
            if tests > 1:
                fail = f"{tests} bug tests fail, probably because of this bug"
                best = f"{fail}; the best is {name}"
            return "Reproduced", f": {best} ({how_sure(answer.confidence, answer.measured)})."
        case PossiblyReproduced():
            return "Possibly reproduced", f": {answer.best} fails{_doubts(answer)}."
        case NotHere(seen=seen, fix=fix):
            return "Not reproduced here", _not_here(seen, fix)
        case NotReproduced(why=why, advice=advice):
            more = "" if advice is None else f"; {advice_words(advice)}"
            return "Not reproduced", f": {_because(why)}{more}."
        case _:
            assert_never(answer)


def _doubts(answer: PossiblyReproduced) -> str:
    sure = how_sure(answer.confidence, answer.measured)
    if answer.evidence is Evidence.STATED_VALUE:
        return f": {_STATED} ({sure}); {_ACCEPT}"
    return f" ({sure}), but {_SAY_WHAT_IS_RIGHT if answer.needs_value else _READ_IT}"


def _not_here(seen: str, fix: Fix | None) -> str:
    """Return that a bug does not show, what is seen instead, and what made it go away."""
    ask = f"{seen[:-1]}; check that this is the version the report is about."
    match fix:
        case FixedBy(commit=commit, about=about, files=files):
            changed = f", which changed {listed(files)}" if files else ""
            return f": fixed by {commit} ({about}){changed}. {seen}"
        case FixedAmong(first=first, last=last, commits=commits):
            among = f"one of the {commits} commits from {first} to {last}"
            return f": fixed by {among}. {seen}"
        case FixedHere():
            return f": fixed by what is not committed yet. {seen}"
        case NeverSeen(revisions=revisions, oldest=oldest):
            tried = "an older revision" if revisions == 1 else f"{revisions} older revisions"
            return f", nor in {tried}, back to {oldest}: {ask}"
        case None:
            return f": {ask}"
        case _:
            assert_never(fix)


#: Measured tests from which on a share of them says something.
_MANY = 10


def how_sure(confidence: float, measured: Measured | None) -> str:
    """Return how likely a test is right, as in "85% sure"."""
    share = percent(confidence, measured)
    if share:
        return f"{share} sure"
    return "taken as right" if confidence == 1 else "how often such tests are right is not known"


def percent(confidence: float, measured: Measured | None) -> str:
    """Return a confidence as in "85%", "" where too little was measured."""
    return f"{confidence:.0%}" if measured is not None and measured.of >= _MANY else ""


def _because(why: OtherTests | NoTestReason | AttemptNote | None) -> str:
    if why is None:
        return "no test could be made from the report"
    if isinstance(why, OtherTests):
        return _what_they_do(why)
    if isinstance(why, NoTestReason):
        return why.text
    return note_sentence(why)


def advice_words(advice: Advice) -> str:
    """Return what to do about a report that was not reproduced."""
    match advice:
        case CheckVersion():
            return "check that this is the version the report is about"
        case CheckInterpreter():
            return _OTHER_PYTHON
        case Mend(hint=hint):
            return hint
        case AskAgain(ran_out=ran_out, tried_all=tried_all):
            other = "a larger model ('pytest-brt models')" if tried_all else "--brt-strategy auto"
            return ", or ".join([*(MORE[ending] for ending in ran_out), f"try {other}"])
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
    return f": {tests.cause.text}" if tests.cause else ""


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
