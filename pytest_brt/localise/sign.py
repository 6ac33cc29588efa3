"""What points at a place, and how much."""

from __future__ import annotations

from typing import NamedTuple

from pytest_brt.types import Clue

#: A function, as its path and qualified name.
Key = tuple[str, str]


class Sign(NamedTuple):
    """What points at a place, and how much."""

    score: float
    clue: Clue
    #: Of the place, those that it points at.
    lines: tuple[int, ...] = ()
