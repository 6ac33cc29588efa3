"""Why a test has its verdict, in words; every room above `types` may use them."""

from __future__ import annotations

from pytest_brt.types import Cell, OracleKind, TestRun
from pytest_brt.types.cause import CauseCode

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
    if run.exercised is False and run.cause.code in (CauseCode.PASSED, CauseCode.RAISED):
        return f"{run.cause.text}; patch not exercised"
    return run.cause.text
