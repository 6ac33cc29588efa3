"""Every cause of a verdict, and every shortfall, has its sentence and travels as JSON."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_brt.codec import from_json, to_json
from pytest_brt.render.causes import cause_words, run_words, shortfall_words, status_words
from pytest_brt.types import Cause, Raised, Shortfall, TestRun, Verdict
from pytest_brt.types.cause import (
    BodyFailed,
    BodyRaised,
    CannotRun,
    DiskFull,
    ExitDiffers,
    ExpectedFailure,
    LacksSurroundings,
    NoTest,
    NotStarted,
    Odd,
    Oddity,
    OtherCode,
    OwnError,
    Passed,
    Phase,
    PhaseFailed,
    ProcessEnded,
    PytestFailed,
    RaisedYetPassed,
    RunBrokenOff,
    Skipped,
    Timed,
    TookTooLong,
)
from pytest_brt.types.shortfall import BudgetSpent, FailBefore, NotCollected

RAISED = Raised(type="KeyError", message="'a'\nand more")

WORDS: list[tuple[Cause, str]] = [
    (Passed(), "passed"),
    (Passed(marked_xfail=True), "passed, though marked as expected to fail"),
    (Skipped(said="not here"), "not here"),
    (Skipped(said=""), "skipped"),
    (ExpectedFailure(said="known"), "known"),
    (ExpectedFailure(said=""), "expected to fail"),
    (BodyRaised(), "KeyError: 'a'"),
    (BodyRaised(path="pkg/a.py", line=3), "KeyError: 'a' (pkg/a.py:3)"),
    (BodyRaised(mismatch=True), "does not fit the project: KeyError: 'a'"),
    (BodyRaised(denied="EROFS"), "sandbox: EROFS: KeyError: 'a'"),
    (
        BodyRaised(denied="ELIBACC"),
        "sandbox: a library is not found, its folder may need --brt-show DIR: KeyError: 'a'",
    ),
    (OwnError(), "error in the test itself: KeyError: 'a'"),
    (PhaseFailed(phase=Phase.COLLECTION), "cannot be collected: KeyError: 'a'"),
    (PhaseFailed(phase=Phase.SETUP, denied="EPERM"), "sandbox: EPERM: setup failed: KeyError: 'a'"),
    (PhaseFailed(phase=Phase.TEARDOWN), "teardown failed: KeyError: 'a'"),
    (PytestFailed(), "pytest itself failed: KeyError: 'a'"),
    (RunBrokenOff(by="Exit"), "broke off the run (Exit)"),
    (NoTest(), "no test found"),
    (CannotRun(said="usage"), "cannot be run: usage"),
    (CannotRun(), "cannot be run: no such test"),
    (TookTooLong(what=Timed.IMPORT, seconds=5.0), "the project was not loaded within 5 s"),
    (TookTooLong(what=Timed.COLLECTION), "did not end while being collected"),
    (TookTooLong(what=Timed.TEST, seconds=0.5), "did not end within 0.5 s"),
    (TookTooLong(what=Timed.ROW, seconds=60.0), "the row did not end within 60 s"),
    (ProcessEnded(status=-11), "killed by SIGSEGV before the test's end"),
    (ProcessEnded(status=3, collecting=True), "exit status 3 while being collected"),
    (RaisedYetPassed(when="call", outcome="odd"), "call reported as 'odd' though it raised"),
    (ExitDiffers(status=-9, announced=0), "killed by SIGKILL, but pytest said 0"),
    (Odd(oddity=Oddity.PHASES), "phases are missing or out of order"),
    (Odd(oddity=Oddity.TWO_PROCESSES), "events from two processes"),
    (Odd(oddity=Oddity.TRAP), "events made to end their reader"),
    (
        OtherCode(path="pkg/a.py", origin="/lib/a.py"),
        "other code than the patched pkg/a.py was imported: /lib/a.py",
    ),
    (DiskFull(), "the disk was full"),
    (
        LacksSurroundings(said="Connection refused"),
        "something around the test is missing: Connection refused",
    ),
    (NotStarted(said="no mount"), "sandbox: could not be set up: no mount"),
]
#: Of these no exception is known.
TEXTS: list[tuple[Cause, str]] = [
    (BodyFailed(text="a\n  b\tc"), "a b c"),
    (BodyFailed(text=""), "failed"),
    (PhaseFailed(phase=Phase.SETUP, text="fixture 'x' not found"),
     "setup failed: fixture 'x' not found"),
]  # fmt: skip


def test_the_samples_have_every_member() -> None:
    assert {type(cause) for cause, _ in (*WORDS, *TEXTS)} == set(get_args(Cause))


@pytest.mark.parametrize(("cause", "words"), WORDS)
def test_a_cause_is_told_with_its_exception(cause: Cause, words: str) -> None:
    assert cause_words(cause, RAISED) == words


@pytest.mark.parametrize(("cause", "words"), TEXTS)
def test_a_cause_without_an_exception_is_told_by_its_text(cause: Cause, words: str) -> None:
    assert cause_words(cause, None) == words


@pytest.mark.parametrize(
    ("message", "said"), [("", "E"), (" \n", "E"), ("a\nb", "E: a"), ("\n a \nb", "E: a")]
)
def test_an_exception_is_told_by_its_type_and_first_line(message: str, said: str) -> None:
    assert cause_words(BodyRaised(), Raised(type="E", message=message)) == said


def test_a_cause_is_one_line_of_bounded_length() -> None:
    assert cause_words(BodyFailed(text="x" * 240), None) == "x" * 240
    assert cause_words(BodyFailed(text="x" * 241), None) == "x" * 239 + "…"


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (Passed(), "passed; patch not exercised"),
        (BodyFailed(text="no"), "no; patch not exercised"),
        (Skipped(said=""), "skipped"),
        (NoTest(), "no test found"),
    ],
)
def test_of_a_test_that_ran_it_is_said_that_the_patch_was_not_reached(
    cause: Cause, words: str
) -> None:
    run = TestRun(test="t", node="n", verdict=Verdict.PASS, cause=cause, exercised=False)
    assert run_words(run) == words


def test_causes_travel() -> None:
    for cause, _ in (*WORDS, *TEXTS):
        run = TestRun(test="t", node="n", verdict=Verdict.PASS, cause=cause)
        assert from_json(to_json(run), TestRun) == run


def test_a_signal_without_a_name_is_told_by_its_number() -> None:
    assert status_words(-999) == "killed by signal 999"


SHORT: list[tuple[Shortfall, str]] = [
    (BudgetSpent(seconds=2.5), "the budget of 2.5 s a patch allows no more"),
    (NotCollected(path="a.py", others=0), "a.py cannot be collected on the unpatched tree"),
    (
        NotCollected(path="a.py", others=2),
        "a.py and 2 more cannot be collected on the unpatched tree",
    ),
    (FailBefore(tests=1, all_of_them=False), "1 does not pass on the unpatched tree"),
    (FailBefore(tests=2, all_of_them=False), "2 do not pass on the unpatched tree"),
    (
        FailBefore(tests=1, all_of_them=True),
        "the one test near it failed on the unpatched tree already",
    ),
    (
        FailBefore(tests=3, all_of_them=True),
        "the 3 tests near it failed on the unpatched tree already",
    ),
]


@pytest.mark.parametrize(("shortfall", "words"), SHORT)
def test_why_no_more_tests_ran_is_told(shortfall: Shortfall, words: str) -> None:
    assert shortfall_words(shortfall) == words


def test_every_shortfall_is_told() -> None:
    assert {type(shortfall) for shortfall, _ in SHORT} == set(get_args(Shortfall))
