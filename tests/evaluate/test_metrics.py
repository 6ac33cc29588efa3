"""The measures of rankings, against averages over all orders of the tied."""

from __future__ import annotations

from itertools import permutations, product
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.evaluate import metrics
from pytest_brt.evaluate.metrics import mean_interval, paired_p

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
    gaps = [
        metrics.precision(a, 1) - metrics.precision(b, 1)
        for a, b in zip(better, worse, strict=True)
    ]
    gap = mean_interval(gaps)
    assert gap == mean_interval(gaps)
    assert gap.mean == pytest.approx(0.4)
    assert gap.low < gap.mean < gap.high <= 0.5
    none = mean_interval([0.0] * 10)
    assert (none.mean, none.low, none.high) == (0, 0, 0)


def test_the_threshold_curve_selects_from_the_score_on() -> None:
    scored: list[list[tuple[float | None, bool]]] = [
        [(1.0, True), (0.5, False), (None, True)],
        [(0.2, False), (0.9, True)],
    ]
    curve = {point.threshold: point for point in metrics.threshold_curve(scored, 10)}
    assert (curve[0.0].precision, curve[0.0].recall) == (0.5, 0.75)
    assert (curve[0.6].precision, curve[0.6].recall, curve[0.6].selecting) == (1.0, 0.75, 2)
    assert (curve[1.0].precision, curve[1.0].recall, curve[1.0].selecting) == (1.0, 0.25, 1)


@given(orders, st.integers(1, 6))
def test_acc_and_wef_are_expectations(order: list[list[bool]], k: int) -> None:
    lines = [line[:k] for line in every_order(order)]
    assert metrics.acc_at(order, k) == pytest.approx(fmean(any(line) for line in lines))
    read = [line.index(True) if any(line) else len(line) for line in lines]
    assert metrics.wef_at(order, k) == pytest.approx(fmean(read))


def test_acc_and_wef_of_a_hand_made_case() -> None:
    bugs = [[[False], [False], [True]], [[True], [False]], [[False]]]
    assert [sum(metrics.acc_at(bug, k) for bug in bugs) for k in (1, 3, 5)] == [1, 2, 2]
    assert [sum(metrics.wef_at(bug, k) for bug in bugs) for k in (1, 3, 5)] == [2, 3, 3]


def test_shuffling_gives_the_expectation_of_a_tie_nearly() -> None:
    bugs = [[[True], [False], [False], [False]]] * 40
    found = metrics.random_baseline(bugs, lambda order: metrics.acc_at(order, 1))
    assert found == pytest.approx(10, abs=1)
    assert found == metrics.random_baseline(bugs, lambda order: metrics.acc_at(order, 1))


def test_the_exact_test_is_mcnemars() -> None:
    # 5 to 1: two-sided binomial, 2 * (1 + 6) / 64.
    ones, others = [1.0] * 5 + [0.0] + [1.0] * 9, [0.0] * 5 + [1.0] + [1.0] * 9
    assert paired_p(ones, others) == pytest.approx(14 / 64)
    assert paired_p(ones, ones) == 1
    assert paired_p([1.0] * 30, [0.0] * 30) < 0.001
    assert mean_interval([]).n == 0
