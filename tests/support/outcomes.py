"""Runs of tests that no test process told of."""

from __future__ import annotations

from pytest_brt.types import Cause, Verdict
from pytest_brt.types.cause import (
    BodyFailed,
    ExpectedFailure,
    NotStarted,
    Odd,
    Oddity,
    Passed,
    Phase,
    PhaseFailed,
    ProcessEnded,
    Skipped,
    Timed,
    TookTooLong,
)

_CAUSES: dict[Verdict, Cause] = {
    Verdict.PASS: Passed(),
    Verdict.FAIL: BodyFailed(text="assert 1 == 2"),
    Verdict.BROKEN: PhaseFailed(phase=Phase.SETUP, text="no database"),
    Verdict.TIMEOUT: TookTooLong(what=Timed.TEST, seconds=1.0),
    Verdict.CRASH: ProcessEnded(status=-11),
    Verdict.TAMPERED: Odd(oddity=Oddity.PHASES),
    Verdict.SKIP: Skipped(said=""),
    Verdict.XFAIL: ExpectedFailure(said=""),
    Verdict.FLAKY: BodyFailed(text="assert 1 == 2"),
    Verdict.INVALID: NotStarted(said="no sandbox"),
}


def caused(verdict: Verdict) -> Cause:
    """Return a cause that a verdict may well have."""
    return _CAUSES[verdict]
