"""Ensemble Pass Rate: the share of candidate BRTs that pass on a patch, and selection by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby

from pytest_brt.types import JudgedTest, PatchResult, Rank, Verdict


def rank_by_epr(
    results: tuple[PatchResult, ...], tests: tuple[JudgedTest, ...]
) -> tuple[Rank, ...]:
    """Order `results` by EPR, best first; those without one come last, by name.

    Every candidate counts, before any dedupe. INVALID cells are our fault and count neither
    as passed nor as run. Equal EPR is a tie: competition ranks (1, 1, 3), and each names the
    others. `tests` is not needed: only candidates have cells.
    """
    del tests
    ranks = sorted(map(_unranked, results), key=_order)
    rated = placed((rank for rank in ranks if rank.epr is not None), lambda rank: rank.epr)
    return (
        *(replace(rank, rank=rank.place) for rank in rated),
        *(rank for rank in ranks if rank.epr is None),
    )


def placed(ranks: Iterable[Rank], key: Callable[[Rank], object]) -> list[Rank]:
    """Return `ranks` in their order with places, one for all of equal `key`."""
    found: list[Rank] = []
    for _, group in groupby(ranks, key=key):
        tied = tuple(group)
        place = len(found) + 1
        for rank in tied:
            others = tuple(other.name for other in tied if other is not rank)
            found.append(replace(rank, place=place, placed_with=others))
    return found


def _unranked(result: PatchResult) -> Rank:
    valid = [cell for cell in result.cells if cell.verdict is not Verdict.INVALID]
    passed = sum(cell.verdict is Verdict.PASS for cell in valid)
    return Rank(
        result=result,
        epr=passed / len(valid) if valid else None,
        rank=None,
        passed=passed,
        total=len(valid),
    )


def _order(rank: Rank) -> tuple[float, bool, str]:
    epr = -1.0 if rank.epr is None else rank.epr
    return (-epr, not rank.result.applies, rank.name)
