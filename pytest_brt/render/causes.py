"""Why a test fails, in words; every room above `types` may use them."""

from __future__ import annotations

from pytest_brt.types import OracleKind

#: What it means that a test of a kind fails; "" when the exception tells.
_FAILURES = {
    OracleKind.NO_RAISE: "",
    OracleKind.MUST_RAISE: "no exception is raised",
    OracleKind.EQUALS: "does not return the value that the report expects",
    OracleKind.GONE: "still returns the reported value",
    OracleKind.NO_PRINT: "still prints what the report shows",
    OracleKind.EXIT_STATUS: "the command fails",
    OracleKind.WRITTEN: "its assertion does not hold",
}


def failure_words(kind: OracleKind) -> str:
    """Return what it means that a test of `kind` fails; "" when the exception tells."""
    return _FAILURES[kind]
