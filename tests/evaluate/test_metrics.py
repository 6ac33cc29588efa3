"""The measures of rankings, against averages over all orders of the tied."""

from __future__ import annotations

from itertools import permutations, product
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.evaluate import measures
from pytest_brt.evaluate.estimates import estimate, permutation_p
from pytest_brt.evaluate.measures import Selection

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
    assert measures.precision(order, k) == pytest.approx(
        fmean(sum(line[:k]) / min(k, size) for line in lines)
    )
    assert measures.recall(order, k) == pytest.approx(
        fmean(sum(line[:k]) / rights for line in lines)
    )


@given(orders)
def test_reciprocal_rank_is_an_expectation(order: list[list[bool]]) -> None:
    expected = fmean(1 / (line.index(True) + 1) for line in every_order(order))
    assert measures.reciprocal_rank(order) == pytest.approx(expected)


@given(orders)
def test_auc_is_the_chance_of_the_right_order(order: list[list[bool]]) -> None:
    chances = []
    for line in every_order(order):
        right = [place for place, is_right in enumerate(line) if is_right]
        wrong = [place for place, is_right in enumerate(line) if not is_right]
        chances += [one < other for one in right for other in wrong]
    assert measures.auc(order) == pytest.approx(fmean(chances))


def test_a_perfect_a_useless_and_a_wrong_ranking() -> None:
    perfect, useless, wrong = [[True], [False]], [[True, False]], [[False], [True]]
    assert [measures.auc(order) for order in (perfect, useless, wrong)] == [1.0, 0.5, 0.0]
    assert [measures.reciprocal_rank(order) for order in (perfect, useless, wrong)] == [
        1,
        0.75,
        0.5,
    ]


def test_the_bootstrap_brackets_the_mean_and_is_repeatable() -> None:
    better = [[[True], [False]]] * 9 + [[[False], [True]]]
    worse = [[[True, False]]] * 10
    gaps = [
        measures.precision(a, 1) - measures.precision(b, 1)
        for a, b in zip(better, worse, strict=True)
    ]
    gap = estimate(gaps)
    assert gap == estimate(gaps)
    assert gap is not None
    assert gap.mean == pytest.approx(0.4)
    assert gap.low < gap.mean < gap.high <= 0.5
    none = estimate([0.0] * 10)
    assert none is not None
    assert (none.mean, none.low, none.high) == (0, 0, 0)


def test_a_threshold_selects_from_the_score_on() -> None:
    first: list[tuple[float | None, bool]] = [(1.0, True), (0.5, False), (None, True)]
    second: list[tuple[float | None, bool]] = [(0.2, False), (0.9, True)]
    assert measures.select(first, 0.0) == Selection(precision=0.5, recall=0.5, reciprocal_rank=1)
    assert measures.select(first, 0.6) == Selection(precision=1.0, recall=0.5, reciprocal_rank=1)
    assert measures.select(second, 0.95) == Selection(precision=None, recall=0, reciprocal_rank=0)
    # Both have the same score: the right one is first or second.
    tied = [(0.5, True), (0.5, False)]
    assert measures.select(tied, 0.1).reciprocal_rank == 0.75
    # A wrong one that scores higher comes before it.
    assert measures.select([(0.3, True), (0.5, False)], 0.1).reciprocal_rank == 0.5


@given(orders, st.integers(1, 6))
def test_acc_and_wef_are_expectations(order: list[list[bool]], k: int) -> None:
    lines = [line[:k] for line in every_order(order)]
    assert measures.acc_at(order, k) == pytest.approx(fmean(any(line) for line in lines))
    read = [line.index(True) if any(line) else len(line) for line in lines]
    assert measures.wef_at(order, k) == pytest.approx(fmean(read))


def test_acc_and_wef_of_a_hand_made_case() -> None:
    bugs = [[[False], [False], [True]], [[True], [False]], [[False]]]
    assert [sum(measures.acc_at(bug, k) for bug in bugs) for k in (1, 3, 5)] == [1, 2, 2]
    assert [sum(measures.wef_at(bug, k) for bug in bugs) for k in (1, 3, 5)] == [2, 3, 3]


def test_one_tie_is_the_expectation_of_shuffling() -> None:
    assert measures.acc_at([[True, False, False, False]], 1) == pytest.approx(1 / 4)


def test_the_exact_test_is_mcnemars() -> None:
    # 5 to 1: two-sided binomial, 2 * (1 + 6) / 64.
    ones, others = [1.0] * 5 + [0.0] + [1.0] * 9, [0.0] * 5 + [1.0] + [1.0] * 9
    assert permutation_p(ones, others) == pytest.approx(14 / 64)
    assert permutation_p(ones, ones) == 1
    assert permutation_p([1.0] * 30, [0.0] * 30) < 0.001
    assert estimate([]) is None


def test_a_share_of_runs_is_drawn_by_bugs() -> None:
    found = estimate([3, 0, 1], [4, 0, 4])
    assert found is not None
    assert (found.mean, found.n) == (0.5, 2)
    assert (found.low, found.high) == (0.25, 0.75)
    assert estimate([0], [0]) is None
