"""How often tests were right that rest on the same evidence: the rows of ``measured.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pytest_brt.types import Evidence, Measured

#: Tests of a row that say enough by themselves.
_ENOUGH = 10


def measured(evidence: Evidence) -> Measured:
    """Return how often tests with such evidence were right; small rows count with ``other``."""
    table = _table()
    own = table.get(evidence, Measured(right=0, of=0))
    if own.of >= _ENOUGH and evidence is not Evidence.OTHER:
        return own
    pooled = [row for name, row in table.items() if row.of < _ENOUGH or name == Evidence.OTHER]
    return Measured(right=sum(row.right for row in pooled), of=sum(row.of for row in pooled))


@cache
def _table() -> dict[str, Measured]:
    text = Path(__file__).with_name("measured.toml").read_text(encoding="utf-8")
    return {
        name: Measured(right=sum(row["right"] for row in rows), of=sum(row["of"] for row in rows))
        for name, rows in tomllib.loads(text).items()
    }
