"""Which patches are right and which tests are: estimated together (Dawid and Skene, 1979).

A test is right (F→P) or not; a patch is right or not. A right test passes on right patches, and
on some wrong ones; what a wrong test does says nothing. From the tests' reliabilities follow the
patches' probabilities; where there are enough of both, the patches tell in turn which tests to
believe, and so on until nothing moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.rank.cluster import Cluster
from pytest_brt.rank.reliability import logit, sigmoid

#: Share of right patches that a right test passes on: not all, tests ask for details too.
PASSES_RIGHT = 0.95
#: Share of patches that a wrong test happens to pass on, right or wrong.
PASSES_ANYHOW = 0.25
#: From this many patches and this many clusters on, tests are judged by the patches too.
ENOUGH = 4
#: How far what the patches tell may move a test's log-odds, in each round.
_MOST = 2.0
_ROUNDS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Probabilities, in the order of the patches and clusters given."""

    right: tuple[float, ...]
    reliable: tuple[float, ...]


#: Per patch and cluster: the weighted share of its tests that pass; None when none ran.
Matrix = Sequence[Sequence[float | None]]


def estimate(matrix: Matrix, clusters: Sequence[Cluster], prior: Sequence[float]) -> Estimate:
    """Return how likely each patch is right and each cluster's claim is.

    Args:
        matrix: a line per patch, a column per cluster.
        clusters: what is known of the tests.
        prior: log-odds per patch of being right, before the tests.
    """
    reliable = [cluster.reliability for cluster in clusters]
    right = [
        _right(line, clusters, reliable, odds) for line, odds in zip(matrix, prior, strict=True)
    ]
    if len(matrix) < ENOUGH or len(clusters) < ENOUGH:
        return Estimate(right=tuple(right), reliable=tuple(reliable))
    weights = _weights(matrix)
    for _ in range(_ROUNDS):
        before = right
        reliable = [
            _reliable([line[number] for line in matrix], cluster, right, weights)
            for number, cluster in enumerate(clusters)
        ]
        right = [
            _right(line, clusters, reliable, odds) for line, odds in zip(matrix, prior, strict=True)
        ]
        if all(abs(new - old) < 1e-6 for new, old in zip(right, before, strict=True)):
            break
    return Estimate(right=tuple(right), reliable=tuple(reliable))


def evidence(share: float, cluster: Cluster, reliable: float) -> float:
    """Return by how much a cluster moves a patch's log-odds when `share` of its votes pass."""
    anyhow = (1 - reliable) * PASSES_ANYHOW
    on_right = reliable * PASSES_RIGHT + anyhow
    on_wrong = reliable * cluster.leniency + anyhow
    return share * (logit_ratio(on_right, on_wrong)) + (1 - share) * (
        logit_ratio(1 - on_right, 1 - on_wrong)
    )


def logit_ratio(right: float, wrong: float) -> float:
    """Return the logarithm of a likelihood ratio."""
    return logit(right / (right + wrong))


def _right(
    line: Sequence[float | None],
    clusters: Sequence[Cluster],
    reliable: Sequence[float],
    odds: float,
) -> float:
    moved = sum(
        evidence(share, cluster, trust)
        for share, cluster, trust in zip(line, clusters, reliable, strict=True)
        if share is not None
    )
    return min(max(sigmoid(odds + moved), 1e-6), 1 - 1e-6)


def _reliable(
    column: Sequence[float | None],
    cluster: Cluster,
    right: Sequence[float],
    weights: Sequence[float],
) -> float:
    """Judge a cluster by the patches; patches with equal lines count as one and a bit."""
    moved = 0.0
    for share, probability, weight in zip(column, right, weights, strict=True):
        if share is None:
            continue
        expected = probability * PASSES_RIGHT + (1 - probability) * cluster.leniency
        moved += weight * share * logit_ratio(expected, PASSES_ANYHOW)
        moved += weight * (1 - share) * logit_ratio(1 - expected, 1 - PASSES_ANYHOW)
    bounded = min(max(moved, -_MOST), _MOST)
    return min(max(sigmoid(logit(cluster.reliability) + bounded), 0.02), 0.98)


def _weights(matrix: Matrix) -> tuple[float, ...]:
    """Let n patches with the same line weigh as the root of n: they are no independent judges."""
    lines = [tuple(line) for line in matrix]
    return tuple(lines.count(line) ** -0.5 for line in lines)
