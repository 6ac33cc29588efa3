"""Why a test has its verdict, in words; every room above `types` may use them."""

from __future__ import annotations

from typing import assert_never

from pytest_brt.types import Cell, OracleKind, Shortfall, TestRun
from pytest_brt.types.cause import CauseCode
from pytest_brt.types.shortfall import BudgetSpent, FailBefore, NotCollected

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
