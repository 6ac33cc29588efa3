"""Which passages and files of a project have most to do with some terms: BM25F.

A rare term says more than a usual one, a name more than a body, a short passage more than a long
one that has the same terms (Robertson and Zaragoza 2009, section 3.6). Each term counts once in a
field: how often a variable is used says nothing of what a function is about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_beside, is_product, is_test_path

#: How much it says where a term stands.
_FIELDS: Mapping[str, float] = {"name": 3.0, "scope": 1.0, "doc": 0.25, "string": 1.5, "body": 1.0}
#: BM25's saturation, and how much the length of a passage and of a file counts, in 0..1.
_SATURATION, _PASSAGE, _FILE = 1.2, 0.5, 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """How much the passages and files of a project have to do with a query."""

    #: By the number of the passage; what has none of the terms is left out.
    passages: Mapping[int, float]
    #: By path.
    files: Mapping[str, float]
    #: What each term is worth where it stands, by term and number of the passage.
    shares: Mapping[str, Mapping[int, float]]
    #: What each term is worth anywhere: its weight, times how rare it is.
    worths: Mapping[str, float]

    def reasons(self, number: int, most: int = 4) -> tuple[str, ...]:
        """Return the terms that say most of passage `number`, the weightiest first."""
        own = {term: found[number] for term, found in self.shares.items() if number in found}
        return tuple(sorted(own, key=lambda term: (-own[term], term))[:most])


def relevance(query: Mapping[str, float], index: Index, *, tests: bool = False) -> Relevance:
    """Return how much the product (or the tests) has to do with the weighted terms of `query`."""
    is_meant = is_test if tests else is_product
    counts = {path: is_meant(path) for path in index.layout.files}
    sizes: dict[str, int] = {}
    passages = {n: p for n, p in index.passages.items() if counts.get(p.path)}
    for passage in passages.values():
        sizes[passage.path] = sizes.get(passage.path, 0) + passage.size
    every = sum(sizes.values()) or 1
    by_passage: dict[int, float] = {}
    by_file: dict[str, float] = {}
    shares: dict[str, dict[int, float]] = {}
    worths: dict[str, float] = {}
    for term, weight in query.items():
        found = {n: fields for n, fields in index.spread(term).items() if n in passages}
        in_file: dict[str, float] = {}
        own = shares[term] = {}
        worth = worths[term] = weight * _rarity(len(found), len(passages))
        for number, fields in found.items():
            passage = passages[number]
            much = sum(_FIELDS[field] for field in fields)
            relative = passage.size * len(passages) / every
            own[number] = worth * _saturated(much, relative, _PASSAGE)
            by_passage[number] = by_passage.get(number, 0.0) + own[number]
            in_file[passage.path] = in_file.get(passage.path, 0.0) + much
        worth = weight * _rarity(len(in_file), len(sizes))
        for path, much in in_file.items():
            relative = sizes[path] * len(sizes) / every
            by_file[path] = by_file.get(path, 0.0) + worth * _saturated(much, relative, _FILE)
    return Relevance(passages=by_passage, files=by_file, shares=shares, worths=worths)


def is_test(path: str) -> bool:
    """Return whether `path` belongs to the tests of the project itself."""
    return is_test_path(path) and not is_beside(path)


def files_about(terms: Iterable[str], index: Index, *, tests: bool) -> Sequence[str]:
    """Return the files of the tests, or of the product, that have `terms`, best first."""
    found = relevance(dict.fromkeys(terms, 1.0), index, tests=tests).files
    return sorted(found, key=lambda path: (-found[path], path))


def _rarity(having: int, every: int) -> float:
    return math.log(1 + (every - having + 0.5) / (having + 0.5))


def _saturated(much: float, relative: float, share: float) -> float:
    """Return what having `much` says in a text `relative` times as long as others are."""
    return much * (_SATURATION + 1) / (much + _SATURATION * (1 - share + share * relative))
