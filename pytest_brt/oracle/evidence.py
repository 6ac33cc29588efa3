"""How often tests were right that rest on the same evidence: the rows of ``measured.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pytest_brt.types import Evidence, Measured

#: Tests of a row that say enough by themselves.
_ENOUGH = 10


@cache
def measured(evidence: Evidence) -> Measured:
    """Return how often tests with such evidence were right; small rows count with ``other``."""
    table = tomllib.loads(
        Path(__file__).with_name("measured.toml").read_text(encoding="utf-8")
    )
    of = {name: sum(row["of"] for row in rows) for name, rows in table.items()}
    names = [str(evidence)]
    if of.get(evidence, 0) < _ENOUGH or evidence is Evidence.OTHER:
        names = [name for name in table if of[name] < _ENOUGH or name == Evidence.OTHER]
    right = sum(row["right"] for name in names for row in table[name])
    return Measured(right=right, of=sum(of[name] for name in names))
