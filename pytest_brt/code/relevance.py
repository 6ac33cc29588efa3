"""How much the passages and files of a project have to do with some words.

Passages are told by BM25, as SQLite has it: a rare term says more than a usual one, a name more
than a body, a short passage more than a long one that has the same terms. Each term counts once in
a field: how often a variable is used says nothing of what a function is about. A file has of each
term what its best passage has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_beside, is_product, is_test_path


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
    meant = {path for path in index.layout.files if is_meant(path)}
    passages = {n: p.path for n, p in index.passages.items() if p.path in meant}
    by_passage: dict[int, float] = {}
    by_file: dict[str, float] = {}
    shares: dict[str, dict[int, float]] = {}
    worths: dict[str, float] = {}
    for term, weight in query.items():
        own = {n: weight * score for n, score in index.having(term).items() if n in passages}
        shares[term] = own
        worths[term] = weight * _rarity(len(own), len(passages))
        best: dict[str, float] = {}
        for number, share in own.items():
            path = passages[number]
            by_passage[number] = by_passage.get(number, 0.0) + share
            best[path] = max(best.get(path, 0.0), share)
        for path, share in best.items():
            by_file[path] = by_file.get(path, 0.0) + share
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
