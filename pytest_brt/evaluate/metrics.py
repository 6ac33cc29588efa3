"""Measures of rankings with ties: every figure is the expectation over the orders of the tied.

An order is a sequence of groups, best first; each group holds the labels (right or wrong) of
patches that the ranker cannot tell apart. Definitions after paper 001, section on fix selection.

How sure a mean over bugs is, and whether two differ, is told by drawing bugs again, seeded.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import comb
from statistics import fmean

Order = Sequence[Sequence[bool]]


def right_in_top(order: Order, k: int) -> float:
    """Return the expected number of right patches among the first `k`."""
    found, left = 0.0, k
    for group in order:
        taken = min(left, len(group))
        found += sum(group) * taken / len(group) if group else 0.0
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
    p, r = precision(order, k), recall(order, k)
    return 2 * p * r / (p + r) if p + r else 0.0


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


def random_baseline(orders: Sequence[Order], measure: Callable[[Order], float]) -> float:
    """Return the sum of `measure` over bugs when each is shuffled, averaged over 100 seeds."""
    sums = []
    for seed in range(100):
        generator = random.Random(seed)
        total = 0.0
        for order in orders:
            line = [right for group in order for right in group]
            generator.shuffle(line)
            total += measure([[right] for right in line])
        sums.append(total)
    return fmean(sums)


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
    "mrr": reciprocal_rank,
    "f1": partial(f1, k=3),
    "auc": auc,
}


def mean_columns(orders: Sequence[Order]) -> dict[str, float]:
    """Return each measure, averaged over instances."""
    return {
        name: fmean(measure(order) for order in orders) if orders else float("nan")
        for name, measure in COLUMNS.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What selecting from a score on gives, over instances: paper 001's threshold curve."""

    threshold: float
    precision: float
    recall: float
    f1: float
    #: Instances in which anything is selected; precision is over these.
    selecting: int


def threshold_curve(
    pools: Sequence[Sequence[tuple[float | None, bool]]], steps: int = 20
) -> list[Point]:
    """Return precision, recall and F1 for thresholds from 0 to 1.

    Precision is averaged over the instances in which something is selected, recall over all.
    """
    points = []
    for step in range(steps + 1):
        threshold = step / steps
        precisions, recalls = [], []
        for pool in pools:
            chosen = [right for score, right in pool if score is not None and score >= threshold]
            rights = sum(right for _, right in pool)
            if chosen:
                precisions.append(sum(chosen) / len(chosen))
            recalls.append(sum(chosen) / rights)
        p = fmean(precisions) if precisions else 0.0
        r = fmean(recalls) if recalls else 0.0
        points.append(
            Point(
                threshold=threshold,
                precision=p,
                recall=r,
                f1=2 * p * r / (p + r) if p + r else 0.0,
                selecting=len(precisions),
            )
        )
    return points


def _size(order: Order) -> int:
    return sum(len(group) for group in order)


#: Draws of the bugs.
_ROUNDS = 2000
#: Up to this many pairs that differ all flips of signs are tried, else so many.
EXACT, _FLIPS = 14, 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A mean over bugs, and where it lies with 95 %."""

    mean: float
    low: float
    high: float
    #: Bugs; without any the rest is 0 and says nothing.
    n: int = 0


def mean_interval(values: Sequence[float]) -> Gap:
    """Return the mean of `values` with its interval, by the percentile bootstrap."""
    return ratio_interval([(value, 1) for value in values])


def ratio_interval(pairs: Sequence[tuple[float, int]]) -> Gap:
    """Return the share of hits with its interval, where each bug has hits and runs.

    Bugs are drawn again, each with all its runs.
    """
    some = [pair for pair in pairs if pair[1]]
    if not some:
        return Gap(mean=0.0, low=0.0, high=0.0)
    generator = random.Random(0)

    def share(drawn: Sequence[tuple[float, int]]) -> float:
        return sum(hits for hits, _ in drawn) / sum(runs for _, runs in drawn)

    shares = sorted(share(generator.choices(some, k=len(some))) for _ in range(_ROUNDS))
    low, high = shares[int(0.025 * _ROUNDS)], shares[int(0.975 * _ROUNDS) - 1]
    return Gap(mean=share(some), low=low, high=high, n=len(some))


def paired_p(ones: Sequence[float], others: Sequence[float]) -> float:
    """Return how likely a mean difference as large as that of the pairs is by chance alone.

    Two-sided, by flipping the signs of the differences: all ways when there are few, else
    10,000 of them. For values that are 0 or 1 it is McNemar's exact test.
    """
    gaps = [a - b for a, b in zip(ones, others, strict=True) if a != b]
    if not gaps:
        return 1.0
    seen = abs(sum(gaps)) - 1e-9
    if len(gaps) <= EXACT:
        flips = list(product((1, -1), repeat=len(gaps)))
        hits = sum(abs(sum(s * g for s, g in zip(f, gaps, strict=True))) >= seen for f in flips)
        return hits / len(flips)
    generator = random.Random(0)
    hits = sum(
        abs(sum(gap if generator.getrandbits(1) else -gap for gap in gaps)) >= seen
        for _ in range(_FLIPS)
    )
    return (hits + 1) / (_FLIPS + 1)


def difference(ones: Sequence[float], others: Sequence[float]) -> tuple[Gap, float]:
    """Return how much larger the first of each pair is on average, and how likely by chance."""
    return mean_interval([a - b for a, b in zip(ones, others, strict=True)]), paired_p(ones, others)
