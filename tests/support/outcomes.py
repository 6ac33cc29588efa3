"""Runs of tests that no test process reported of."""

from __future__ import annotations

from pytest_brt.types import Cause, CauseCode, Note, Verdict

_CAUSES = {
    Verdict.PASS: (CauseCode.OTHER, "passed"),
    Verdict.FAIL: (CauseCode.RAISED, "assert 1 == 2"),
    Verdict.BROKEN: (CauseCode.OTHER, "setup failed: no database"),
    Verdict.TIMEOUT: (CauseCode.SHORT, "did not end within 1 s"),
    Verdict.CRASH: (CauseCode.OTHER, "killed by SIGSEGV before the test's end"),
    Verdict.TAMPERED: (CauseCode.OTHER, "phases are missing or out of order"),
    Verdict.SKIP: (CauseCode.OTHER, "skipped"),
    Verdict.XFAIL: (CauseCode.OTHER, "expected to fail"),
    Verdict.FLAKY: (CauseCode.RAISED, "assert 1 == 2"),
    Verdict.INVALID: (CauseCode.OTHER, "sandbox: could not be set up: no sandbox"),
}


def caused(verdict: Verdict, text: str = "") -> Cause:
    """Return a cause that a verdict may well have."""
    code, usual = _CAUSES[verdict]
    return Cause(code=code, text=text or usual)


def refused(text: str = "empty patch: there is no text in it") -> Note:
    """Return why a patch is not applied."""
    return Note(code="empty-patch", text=text)
