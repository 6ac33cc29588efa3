"""Measures of rankings with ties: every figure is the expectation over the orders of the tied.

An order is a sequence of groups, best first; each group holds the labels (right or wrong) of
patches that the ranker cannot tell apart. Definitions after paper 001, section on fix selection.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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


def reciprocal_rank(order: Order) -> float:
    """Return the expectation of one over the place of the first right patch."""
    before = 0
    for group in order:
        size, right = len(group), sum(group)
        if right:
            total = comb(size, right)
            # The first right one is at place i of the group when i - 1 wrong ones precede it.
            return sum(
                comb(size - place, right - 1) / total / (before + place)
                for place in range(1, size - right + 2)
            )
        before += size
    return 0.0


def auc(order: Order) -> float:
    """Return the probability that a right patch stands before a wrong one; ties are half."""
    better = pairs = 0.0
    wrong_left = sum(len(group) - sum(group) for group in order)
    for group in order:
        right = sum(group)
        wrong = len(group) - right
        wrong_left -= wrong
        better += right * (wrong_left + wrong / 2)
        pairs += right * (wrong_left + wrong)
    wrongs = sum(len(group) - sum(group) for group in order)
    rights = sum(sum(group) for group in order)
    return better / (rights * wrongs) if rights and wrongs else 0.5


COLUMNS: Mapping[str, Callable[[Order], float]] = {
    **{f"p{k}": (lambda order, k=k: precision(order, k)) for k in range(1, 6)},  # type: ignore[misc]
    **{f"r{k}": (lambda order, k=k: recall(order, k)) for k in range(1, 6)},  # type: ignore[misc]
    "mrr": reciprocal_rank,
    "f1": lambda order: f1(order, 3),
    "auc": auc,
}


def mean_columns(orders: Sequence[Order]) -> dict[str, float]:
    """Return each measure, averaged over instances."""
    return {
        name: fmean(measure(order) for order in orders) if orders else float("nan")
        for name, measure in COLUMNS.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """By how much one ranker is above another, with where the mean lies with 95 %."""

    mean: float
    low: float
    high: float


def paired_gap(
    better: Sequence[Order], worse: Sequence[Order], column: str, rounds: int = 2000, seed: int = 0
) -> Gap:
    """Return the mean difference of a measure over instances, by paired bootstrap."""
    measure = COLUMNS[column]
    gaps = [measure(a) - measure(b) for a, b in zip(better, worse, strict=True)]
    generator = random.Random(seed)
    means = sorted(fmean(generator.choices(gaps, k=len(gaps))) for _ in range(rounds))
    return Gap(
        mean=fmean(gaps), low=means[int(0.025 * rounds)], high=means[int(0.975 * rounds) - 1]
    )


def interval(orders: Sequence[Order], column: str, rounds: int = 2000, seed: int = 0) -> Gap:
    """Return the mean of a measure over instances, by bootstrap."""
    values = [COLUMNS[column](order) for order in orders]
    generator = random.Random(seed)
    means = sorted(fmean(generator.choices(values, k=len(values))) for _ in range(rounds))
    return Gap(
        mean=fmean(values), low=means[int(0.025 * rounds)], high=means[int(0.975 * rounds) - 1]
    )


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


def calibration(
    scored: Sequence[tuple[float, bool]], edges: Sequence[float] = (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)
) -> list[tuple[float, float, int, float, float]]:
    """Return, per bin of scores: its ends, how many fall in it, their mean score, share right."""
    rows = []
    for low, high in pairwise(edges):
        inside = [
            (score, right)
            for score, right in scored
            if low <= score < high or (high == edges[-1] and score == high)
        ]
        if inside:
            mean_score = fmean(score for score, _ in inside)
            share = fmean(float(right) for _, right in inside)
            rows.append((float(low), float(high), len(inside), mean_score, share))
    return rows


def _size(order: Order) -> int:
    return sum(len(group) for group in order)
