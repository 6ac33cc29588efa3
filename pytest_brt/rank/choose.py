"""Selection of patches from a ranking: the best K, or all from a score on (paper 001)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.types import Rank


def top_k(ranks: Sequence[Rank], k: int) -> tuple[Rank, ...]:
    """Return the patches whose place, in the order that the ranker gives, is at most `k`.

    More than `k` when patches tie at the end: an order among them would be invented.
    """
    return tuple(rank for rank in ranks if rank.place is not None and rank.place <= k)


def at_least(ranks: Sequence[Rank], threshold: float) -> tuple[Rank, ...]:
    """Return the patches whose plain EPR is at least `threshold`, in the ranking's order."""
    return tuple(rank for rank in ranks if rank.epr is not None and rank.epr >= threshold)


def selected(
    ranks: Sequence[Rank], top: int | None, threshold: float | None
) -> dict[str, tuple[Rank, ...]]:
    """Return the patches that each option selects, after what the user wrote."""
    chosen: dict[str, tuple[Rank, ...]] = {}
    if top is not None:
        chosen[f"--brt-top {top}"] = top_k(ranks, top)
    if threshold is not None:
        chosen[f"--brt-threshold {threshold:g}"] = at_least(ranks, threshold)
    return chosen
