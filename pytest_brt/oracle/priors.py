"""How often a test of each kind is F→P when it rests on a plain statement of the report.

Measured on real reports of eight projects by the script bench/replay.py; the rules move
their scores around these by what else the report says.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_brt.types import OracleKind

PRIORS: Mapping[OracleKind, float] = MappingProxyType(
    {
        OracleKind.NO_RAISE: 0.70,
        OracleKind.MUST_RAISE: 0.45,
        OracleKind.EQUALS: 0.60,
        OracleKind.GONE: 0.42,
        OracleKind.AGREE: 0.55,
        OracleKind.WARNS: 0.40,
        OracleKind.NO_WARN: 0.50,
        OracleKind.PRINTS: 0.40,
        OracleKind.NO_PRINT: 0.45,
        OracleKind.ROUND_TRIP: 0.40,
        OracleKind.IDEMPOTENT: 0.40,
        OracleKind.EXIT_STATUS: 0.50,
        OracleKind.WRITTEN: 0.60,
    }
)
