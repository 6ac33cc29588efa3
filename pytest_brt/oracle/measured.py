"""How often tests were right that rest on the same evidence: the rows of ``measured.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pytest_brt.types import Evidence, Measured

#: What makes evidence reliable: a share of right tests, among so many.
_SHARE, _FEWEST = 0.9, 15


def measured(evidence: Evidence) -> Measured | None:
    """Return how often tests with such evidence were right; None where nobody has measured it."""
    rows = _table().get(evidence, [])
    right = sum(row["right"] for row in rows)
    of = sum(row["of"] for row in rows)
    if not of:
        return None
    return Measured(right=right, of=of, reliable=of >= _FEWEST and right >= _SHARE * of)


@cache
def _table() -> dict[str, list[dict[str, int]]]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
