"""How well scores of patches are calibrated, and how far two rankings are apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from pytest_brt.evaluate.estimates import Estimate, estimate
from pytest_brt.evaluate.measures import COLUMNS, Order


def paired_gap(better: Sequence[Order], worse: Sequence[Order], column: str) -> Estimate | None:
    """Return the mean difference of a measure over instances, by paired bootstrap."""
    measure = COLUMNS[column]
    return estimate([measure(a) - measure(b) for a, b in zip(better, worse, strict=True)])


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


def calibration_error(scored: Sequence[tuple[float, bool]]) -> float:
    """Return how far scores are from shares of right ones, on average over patches (ECE)."""
    gaps = (count * abs(score - right) for _, _, count, score, right in calibration(scored))
    return sum(gaps) / len(scored) if scored else 0.0
