"""How often tests were right that rest on the same evidence: the rows of ``measured.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pytest_brt.types import Evidence, Measured


def measured(evidence: Evidence) -> Measured:
    """Return how often tests with such evidence were right; 0 of 0 where nobody has measured it."""
    rows = _table().get(evidence, [])
    return Measured(right=sum(row["right"] for row in rows), of=sum(row["of"] for row in rows))


@cache
def _table() -> dict[str, list[dict[str, int]]]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
