"""Why a test has its verdict, in words; every room above `types` may use them."""

from __future__ import annotations

import signal
from typing import assert_never

from pytest_brt.types import Cell, OracleKind, Raised, Shortfall, TestRun
from pytest_brt.types.cause import (
    NO_LIBRARY,
    BodyFailed,
    BodyRaised,
    CannotRun,
    Cause,
    CutShort,
    DiskFull,
    ExitDiffers,
    ExpectedFailure,
    Finished,
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
    Untrusted,
)
from pytest_brt.types.shortfall import BudgetSpent, FailBefore, NotCollected

#: Characters of a cause.
_MOST = 240

#: What it means that a test of a kind fails; "" when the exception tells.
_FAILURES = {
    OracleKind.NO_RAISE: "",
    OracleKind.MUST_RAISE: "no exception is raised",
    OracleKind.EQUALS: "does not return the value that the report expects",
    OracleKind.GONE: "still returns the reported value",
    OracleKind.NO_TRACEBACK: "the command still ends in a traceback",
    OracleKind.WRITTEN: "its assertion does not hold",
}


def failure_words(kind: OracleKind) -> str:
    """Return what it means that a test of `kind` fails; "" when the exception tells."""
    return _FAILURES[kind]


def run_words(run: TestRun | Cell) -> str:
    """Return on one line why a run has its verdict."""
    words = cause_words(run.cause, run.raised)
    if run.exercised is False and isinstance(run.cause, (Passed, BodyRaised, BodyFailed)):
        return _line(f"{words}; patch not exercised")
    return words


def cause_words(cause: Cause, raised: Raised | None) -> str:
    """Return a cause on one line, with the exception that stands beside it."""
    if isinstance(cause, CutShort):
        return _line(_cut_short_words(cause))
    if isinstance(cause, Untrusted):
        return _line(_untrusted_words(cause))
    return _line(_finished_words(cause, raised))


def _finished_words(cause: Finished, raised: Raised | None) -> str:
    match cause:
        case Passed(marked_xfail=marked):
            return "passed, though marked as expected to fail" if marked else "passed"
        case Skipped(said=said):
            return said or "skipped"
        case ExpectedFailure(said=said):
            return said or "expected to fail"
        case BodyRaised():
            return _raised_words(cause, raised)
        case BodyFailed(text=text):
            return text or "failed"
        case OwnError():
            return f"error in the test itself: {_shortly(raised)}"
        case PhaseFailed(phase=phase, text=text, denied=denied):
            error = _shortly(raised) or text
            return f"{_denial(denied)}{_FAILED[phase]}: {error}"
        case RunBrokenOff(by=by):
            return f"broke off the run ({by})"
        case PytestFailed():
            return f"pytest itself failed: {_shortly(raised)}"
        case NoTest():
            return "no test found"
        case CannotRun(said=said):
            return f"cannot be run: {said or 'no such test'}"
        case _:
            assert_never(cause)


#: What failed around a test's body.
_FAILED = {
    Phase.COLLECTION: "cannot be collected",
    Phase.SETUP: "setup failed",
    Phase.TEARDOWN: "teardown failed",
}


def _raised_words(cause: BodyRaised, raised: Raised | None) -> str:
    short = _shortly(raised)
    if cause.denied:
        return f"{_denial(cause.denied)}{short}"
    if cause.mismatch:
        return f"does not fit the project: {short}"
    return f"{short} ({cause.path}:{cause.line})" if cause.path else short


def _cut_short_words(cause: CutShort) -> str:
    match cause:
        case TookTooLong(what=what, seconds=seconds):
            within = "" if seconds is None else f" within {seconds:g} s"
            return f"{_LATE[what]}{within}"
        case ProcessEnded(status=status, collecting=collecting):
            when = "while being collected" if collecting else "before the test's end"
            return f"{status_words(status)} {when}"
        case _:
            assert_never(cause)


def _untrusted_words(cause: Untrusted) -> str:
    match cause:
        case RaisedYetPassed(when=when, outcome=outcome):
            return f"{when} reported as {outcome!r} though it raised"
        case ExitDiffers(status=status, announced=announced):
            return f"{status_words(status)}, but pytest said {announced}"
        case Odd(oddity=oddity):
            return _ODD[oddity]
        case OtherCode(path=path, origin=origin):
            return f"other code than the patched {path} was imported: {origin}"
        case LacksSurroundings(said=said):
            return f"something around the test is missing: {said}"
        case DiskFull():
            return "the disk was full"
        case NotStarted(said=said):
            return f"sandbox: could not be set up: {said}"
        case _:
            assert_never(cause)


_LATE = {
    Timed.IMPORT: "the project was not loaded",
    Timed.COLLECTION: "did not end while being collected",
    Timed.TEST: "did not end",
    Timed.ROW: "the row did not end",
}
_ODD = {
    Oddity.PHASES: "phases are missing or out of order",
    Oddity.TWO_PROCESSES: "events from two processes",
    Oddity.TRAP: "events made to end their reader",
}


def status_words(status: int) -> str:
    """Return how a process ended: "killed by SIGSEGV" or "exit status 3".

    >>> status_words(-11)
    'killed by SIGSEGV'
    """
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def shortfall_words(shortfall: Shortfall) -> str:
    """Return why no more existing tests were run."""
    match shortfall:
        case BudgetSpent(seconds=seconds):
            return f"the budget of {seconds:g} s a patch allows no more"
        case NotCollected(path=path, others=others):
            more = f" and {others} more" if others else ""
            return f"{path}{more} cannot be collected on the unpatched tree"
        case FailBefore(tests=tests, all_of_them=True):
            count = f"{tests} tests" if tests > 1 else "one test"
            return f"the {count} near it failed on the unpatched tree already"
        case FailBefore(tests=tests):
            return f"{tests} {'do' if tests > 1 else 'does'} not pass on the unpatched tree"
        case _:
            assert_never(shortfall)


def _denial(denied: str) -> str:
    if denied == NO_LIBRARY:
        return "sandbox: a library is not found, its folder may need --brt-show DIR: "
    return f"sandbox: {denied}: " if denied else ""


def _shortly(raised: Raised | None) -> str:
    """Return the exception on one line, without more than the first of its message."""
    if raised is None:
        return ""
    first = raised.message.strip().splitlines()[:1]
    return f"{raised.type}: {first[0]}" if first else raised.type


def _line(text: str) -> str:
    """Return a text on one line, cut to size."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"
