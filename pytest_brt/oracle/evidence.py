"""How often tests were right that rest on the same evidence: the rows of ``measured.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pytest_brt.types import Evidence, Measured


@cache
def measured(evidence: Evidence) -> Measured:
    """Return how often tests with such evidence were right; with no row, how often the others."""
    table = tomllib.loads(
        Path(__file__).with_name("measured.toml").read_text(encoding="utf-8")
    )
    rows = table.get(evidence, table[Evidence.OTHER])
    return Measured(
        right=sum(row["right"] for row in rows), of=sum(row["of"] for row in rows)
    )
