"""Rules that order a pool of patches, each as groups of patches that it cannot tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.types import JudgedTest, PatchResult, Rank

Ordering = Callable[[tuple[PatchResult, ...], tuple[JudgedTest, ...]], list[list[PatchResult]]]


def by_rank(ranks: Sequence[Rank]) -> list[list[PatchResult]]:
    """Return patches in groups of equal place, and of equal score where there is one.

    Those without a place are one group at the end.
    """
    ranked = [rank for rank in ranks if rank.place is not None]
    groups = [
        [rank.result for rank in group]
        for _, group in groupby(
            ranked,
            key=lambda rank: (rank.place, None if rank.score is None else round(rank.score, 9)),
        )
    ]
    rest = [rank.result for rank in ranks if rank.place is None]
    return [*groups, rest] if rest else groups


def grouped(
    rows: Iterable[PatchResult], key: Callable[[PatchResult], float]
) -> list[list[PatchResult]]:
    """Return patches in groups of equal `key`, lowest first."""
    ordered = sorted(rows, key=key)
    return [list(group) for _, group in groupby(ordered, key=key)]


def without_guard(rows: Iterable[PatchResult]) -> tuple[PatchResult, ...]:
    """Return rows as they would be if no existing test had been run."""
    return tuple(replace(row, guarded=None) for row in rows)


def majority(rows: tuple[PatchResult, ...], tests: object) -> list[list[PatchResult]]:
    """Order by how many patches are the same after normalisation."""
    del tests
    counts = Counter(row.normal or row.patch.text for row in rows)
    return grouped(rows, lambda row: -counts[row.normal or row.patch.text])


def broken_tests(row: PatchResult) -> float:
    """Return how many existing tests a patch breaks; one that does not apply comes last."""
    if not row.applies:
        return float("inf")
    return len(row.guarded.regressions) if row.guarded else 0


RANKERS: Mapping[str, Ordering] = {
    "random": lambda rows, _: [list(rows)],
    "first-come": lambda rows, _: [[row] for row in rows],
    "regression-only": lambda rows, _: grouped(rows, broken_tests),
    "majority": majority,
    "epr": lambda rows, tests: by_rank(rank_by_epr(rows, tests)),
    "weighted": lambda rows, tests: by_rank(rank_by_weight(without_guard(rows), tests)),
    "weighted+guard": lambda rows, tests: by_rank(rank_by_weight(rows, tests)),
}
