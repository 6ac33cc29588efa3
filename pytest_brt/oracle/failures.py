"""What it means, in words, that a test of each oracle fails."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_brt.types import OracleKind

#: For oracles whose failure is no exception of the project, which is told by itself.
FAILURES: Mapping[OracleKind, str] = MappingProxyType(
    {
        OracleKind.MUST_RAISE: "no exception comes",
        OracleKind.EQUALS: "another value comes out",
        OracleKind.GONE: "the reported result still comes out",
        OracleKind.AGREE: "two results differ that should not",
        OracleKind.WARNS: "no warning comes",
        OracleKind.NO_WARN: "the reported warning comes",
        OracleKind.PRINTS: "the expected output is not there",
        OracleKind.NO_PRINT: "the reported output is still there",
        OracleKind.ROUND_TRIP: "there and back is not the same",
        OracleKind.IDEMPOTENT: "twice is not the same as once",
        OracleKind.EXIT_STATUS: "the command fails",
    }
)
