"""Takes a name that is nearly right for the one that is meant (paper 004, requirement 65)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

#: Names whose normalised distance is below this are taken for each other.
DISTANCE = 0.1
#: Shorter names are not looked for inside of others: they are everywhere.
_SHORTEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What a name can be taken for."""

    #: The one that is meant, or "".
    name: str
    #: Those that it could be, when they are several.
    several: tuple[str, ...] = ()


def closest(given: str, names: Collection[str]) -> Match:
    """Return which of `names` is meant by `given`.

    The same name, whatever its case and separators; else the only one that is part of it, or
    that it is part of; else the only one at a normalised Levenshtein distance below 0.1.

    >>> closest("search", ["cat", "code_search"])
    Match(name='code_search', several=())
    >>> closest("grep", ["cat", "code_search"])
    Match(name='', several=())
    """
    if given in names:
        return Match(name=given)
    plain = _plain(given)
    for fits in (_same, _part, _near):
        found = tuple(name for name in names if fits(plain, _plain(name)))
        if len(found) == 1:
            return Match(name=found[0])
        if found:
            return Match(name="", several=found)
    return Match(name="")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _same(given: str, name: str) -> bool:
    return given.replace("_", "") == name.replace("_", "")


def _part(given: str, name: str) -> bool:
    if min(len(given), len(name)) < _SHORTEST:
        return False
    return given in name or name in given


def _near(given: str, name: str) -> bool:
    return Levenshtein.normalized_distance(given, name) < DISTANCE
