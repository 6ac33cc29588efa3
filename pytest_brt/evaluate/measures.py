"""Measures of rankings with ties: every figure is the expectation over the orders of the tied.

An order is a sequence of groups, best first; each group holds the labels (right or wrong) of
patches that the ranker cannot tell apart. Definitions after paper 001, section on fix selection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import comb

Order = Sequence[Sequence[bool]]


def right_in_top(order: Order, k: int) -> float:
    """Return the expected number of right patches among the first `k`."""
    found, left = 0.0, k
    for group in order:
        taken = min(left, len(group))
        if group:
            found += sum(group) * taken / len(group)
        left -= taken
    return found


def precision(order: Order, k: int) -> float:
    """Return the share of right patches among the first `k` (or all, when there are fewer)."""
    return right_in_top(order, k) / min(k, _size(order))


def recall(order: Order, k: int) -> float:
    """Return the share of the right patches that are among the first `k`."""
    return right_in_top(order, k) / sum(sum(group) for group in order)


def f1(order: Order, k: int) -> float:
    """Return the harmonic mean of precision and recall at `k`."""
    return f1_of(precision(order, k), recall(order, k))


def f1_of(precision: float, recall: float) -> float:
    """Return the harmonic mean of both, 0 where both are."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def first_right(order: Order) -> list[tuple[int, float]]:
    """Return the places where the first right one may stand, with their probabilities.

    They add up to 1, or to nothing when there is no right one.
    """
    before = 0
    for group in order:
        size, right = len(group), sum(group)
        if right:
            total = comb(size, right)
            # It is at place i of the group when i - 1 wrong ones precede it.
            return [
                (before + place, comb(size - place, right - 1) / total)
                for place in range(1, size - right + 2)
            ]
        before += size
    return []


def reciprocal_rank(order: Order) -> float:
    """Return the expectation of one over the place of the first right patch."""
    return sum(chance / place for place, chance in first_right(order))


def acc_at(order: Order, k: int) -> float:
    """Return the probability that a right one is among the first `k` (LIBRO's acc@k)."""
    return sum(chance for place, chance in first_right(order) if place <= k)


def wef_at(order: Order, k: int) -> float:
    """Return how many wrong ones are expected to be read for nothing (LIBRO's wef@k).

    Read are the first `k` (or all, when there are fewer) until a right one comes.
    """
    found = first_right(order)
    missed = 1 - sum(chance for place, chance in found if place <= k)
    useless = sum(chance * (place - 1) for place, chance in found if place <= k)
    return useless + missed * min(k, _size(order))


def auc(order: Order) -> float:
    """Return the probability that a right patch stands before a wrong one; ties are half."""
    better = 0.0
    rights = sum(sum(group) for group in order)
    wrongs = wrong_left = _size(order) - rights
    for group in order:
        right = sum(group)
        wrong = len(group) - right
        wrong_left -= wrong
        better += right * (wrong_left + wrong / 2)
    return better / (rights * wrongs) if rights and wrongs else 0.5


COLUMNS: Mapping[str, Callable[[Order], float]] = {
    **{f"p{k}": partial(precision, k=k) for k in range(1, 6)},
    **{f"r{k}": partial(recall, k=k) for k in range(1, 6)},
    **{f"f1@{k}": partial(f1, k=k) for k in range(1, 6)},
    "mrr": reciprocal_rank,
    "auc": auc,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What selecting a bug's patches from a score on gives (paper 001, Figure 6)."""

    #: None where nothing is selected.
    precision: float | None
    recall: float
    #: Of the first right one among the selected, 0 where none is.
    reciprocal_rank: float


def select(pool: Sequence[tuple[float | None, bool]], threshold: float) -> Selection:
    """Return what is selected of `pool`, scores with labels, when scores reach `threshold`.

    The pool must hold a right patch.
    """
    scored = [(score, right) for score, right in pool if score is not None]
    chosen = sorted((pair for pair in scored if pair[0] >= threshold), key=_falling)
    order = [[right for _, right in group] for _, group in groupby(chosen, key=_falling)]
    hits = sum(right for _, right in chosen)
    return Selection(
        precision=hits / len(chosen) if chosen else None,
        recall=hits / sum(right for _, right in pool),
        reciprocal_rank=reciprocal_rank(order),
    )


def _falling(pair: tuple[float, bool]) -> float:
    return -pair[0]


def _size(order: Order) -> int:
    return sum(len(group) for group in order)
