"""The measures of rankings, against averages over all orders of the tied."""

from __future__ import annotations

import importlib.util
import sys
from itertools import permutations, product
from pathlib import Path
from statistics import fmean
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

PATH = Path(__file__).parents[2] / "bench" / "ranking_metrics.py"


def load() -> ModuleType:
    """Import the module by its path: bench/ holds programs, it is no package."""
    spec = importlib.util.spec_from_file_location("ranking_metrics", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ranking_metrics"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


metrics = load()

orders = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=3).filter(
    lambda order: {right for group in order for right in group} == {True, False}
)


def every_order(order: list[list[bool]]) -> list[list[bool]]:
    """Return all orders of single patches that a ranking with ties allows."""
    return [
        [right for group in groups for right in group]
        for groups in product(*(permutations(group) for group in order))
    ]


@given(orders, st.integers(1, 6))
def test_precision_and_recall_are_expectations(order: list[list[bool]], k: int) -> None:
    lines = every_order(order)
    size, rights = len(lines[0]), sum(lines[0])
    assert metrics.precision(order, k) == pytest.approx(
        fmean(sum(line[:k]) / min(k, size) for line in lines)
    )
    assert metrics.recall(order, k) == pytest.approx(
        fmean(sum(line[:k]) / rights for line in lines)
    )


@given(orders)
def test_reciprocal_rank_is_an_expectation(order: list[list[bool]]) -> None:
    expected = fmean(1 / (line.index(True) + 1) for line in every_order(order))
    assert metrics.reciprocal_rank(order) == pytest.approx(expected)


@given(orders)
def test_auc_is_the_chance_of_the_right_order(order: list[list[bool]]) -> None:
    chances = []
    for line in every_order(order):
        right = [place for place, is_right in enumerate(line) if is_right]
        wrong = [place for place, is_right in enumerate(line) if not is_right]
        chances += [one < other for one in right for other in wrong]
    assert metrics.auc(order) == pytest.approx(fmean(chances))


def test_a_perfect_a_useless_and_a_wrong_ranking() -> None:
    perfect, useless, wrong = [[True], [False]], [[True, False]], [[False], [True]]
    assert [metrics.auc(order) for order in (perfect, useless, wrong)] == [1.0, 0.5, 0.0]
    assert [metrics.reciprocal_rank(order) for order in (perfect, useless, wrong)] == [1, 0.75, 0.5]


def test_the_bootstrap_brackets_the_mean_and_is_repeatable() -> None:
    better = [[[True], [False]]] * 9 + [[[False], [True]]]
    worse = [[[True, False]]] * 10
    gap = metrics.paired_gap(better, worse, "p1", rounds=500)
    assert gap == metrics.paired_gap(better, worse, "p1", rounds=500)
    assert gap.mean == pytest.approx(0.4)
    assert gap.low < gap.mean < gap.high <= 0.5
    none = metrics.paired_gap(worse, worse, "mrr", rounds=100)
    assert (none.mean, none.low, none.high) == (0, 0, 0)


def test_the_threshold_curve_selects_from_the_score_on() -> None:
    pools = [[(1.0, True), (0.5, False), (None, True)], [(0.2, False), (0.9, True)]]
    curve = {point.threshold: point for point in metrics.threshold_curve(pools, 10)}
    assert (curve[0.0].precision, curve[0.0].recall) == (0.5, 0.75)
    assert (curve[0.6].precision, curve[0.6].recall, curve[0.6].selecting) == (1.0, 0.75, 2)
    assert (curve[1.0].precision, curve[1.0].recall, curve[1.0].selecting) == (1.0, 0.25, 1)


def test_calibration_counts_every_patch_once() -> None:
    rows = metrics.calibration([(0.05, False), (0.95, True), (1.0, True), (0.3, False)])
    assert [(low, high, count, share) for low, high, count, _, share in rows] == [
        (0.0, 0.1, 1, 0.0),
        (0.3, 0.5, 1, 0.0),
        (0.9, 1.0, 2, 1.0),
    ]
