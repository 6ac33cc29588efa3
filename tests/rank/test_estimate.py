"""Estimating patches and tests together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.cluster import Cluster
from pytest_brt.rank.estimate import estimate, evidence
from pytest_brt.rank.reliability import logit


def cluster(reliability: float = 0.5, leniency: float = 0.2) -> Cluster:
    return Cluster(tests=("t",), shares=(1.0,), reliability=reliability, leniency=leniency)


shares = st.one_of(st.none(), st.floats(0, 1))
chances = st.floats(0.02, 0.98)


@given(st.data(), st.integers(1, 7), st.integers(1, 7))
def test_probabilities_are_probabilities(data: st.DataObject, rows: int, columns: int) -> None:
    matrix = data.draw(
        st.lists(st.lists(shares, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    clusters = [
        cluster(data.draw(chances), data.draw(st.floats(0.05, 0.6))) for _ in range(columns)
    ]
    found = estimate(matrix, clusters, [0.0] * rows)
    assert len(found.right) == rows
    assert len(found.reliable) == columns
    assert all(0 < value < 1 for value in (*found.right, *found.reliable))


@given(chances, st.floats(0.05, 0.9))
def test_passing_never_speaks_against_a_patch(reliable: float, leniency: float) -> None:
    one = cluster(reliable, leniency)
    assert evidence(0.0, one, reliable) < 0 < evidence(1.0, one, reliable)


@given(chances, chances)
def test_a_test_that_is_trusted_more_moves_more(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert evidence(1.0, cluster(), less) <= evidence(1.0, cluster(), more) + 1e-12


def test_a_stated_value_outweighs_something_else() -> None:
    value, gone = cluster(0.5, 0.12), cluster(0.5, 0.45)
    assert evidence(1.0, value, 0.5) > evidence(1.0, gone, 0.5)
    both = estimate([[1.0, 0.0], [0.0, 1.0]], [value, gone], [0.0, 0.0])
    assert both.right[0] > both.right[1]


def test_little_data_leaves_the_tests_as_they_were() -> None:
    clusters = [cluster(0.3), cluster(0.7), cluster(0.6)]
    found = estimate([[1.0, 0.0, 0.0]] * 9, clusters, [0.0] * 9)
    assert found.reliable == (0.3, 0.7, 0.6)


def test_a_test_that_contradicts_the_others_is_believed_less() -> None:
    matrix = [
        [1.0, 1.0, 1.0, 0.0],
        [1.0, 1.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
    found = estimate(matrix, [cluster(0.5)] * 4, [-0.8] * 5)
    assert min(found.reliable[:2]) > 0.5 > found.reliable[3]
    assert found.right[0] == pytest.approx(found.right[1])
    assert found.right[0] > 0.8
    assert max(found.right[2], found.right[4]) < 0.2


@given(st.permutations(range(5)))
def test_the_order_of_patches_changes_nothing(order: list[int]) -> None:
    matrix = [
        [1.0, 0.0, 1.0, 0.5],
        [0.0] * 4,
        [1.0] * 4,
        [0.0, 1.0, 0.0, 1.0],
        [1.0, 1.0, 0.0, 0.0],
    ]
    clusters = [cluster(0.3), cluster(0.6), cluster(0.5), cluster(0.4)]
    straight = estimate(matrix, clusters, [0.0] * 5)
    mixed = estimate([matrix[place] for place in order], clusters, [0.0] * 5)
    assert mixed.right == pytest.approx([straight.right[place] for place in order])


def test_it_is_estimated_until_nothing_moves() -> None:
    """After one round the last but one is held for right, as two of its tests said."""
    matrix = [
        [1.0, 1.0, 1.0, 0.0],
        [1.0, 0.0, 1.0, 1.0],
        [0.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 1.0, 0.0],
        [1.0, 1.0, 0.0, 1.0],
        [0.0, 1.0, 0.0, 1.0],
    ]
    found = estimate(matrix, [cluster(0.5)] * 4, [-0.8] * 6)
    assert found.right[3] > 0.8
    assert found.right[4] < 0.5
    assert min(found.reliable[0], found.reliable[2]) > 0.8
    assert max(found.reliable[1], found.reliable[3]) < 0.2
    for line, right in zip(matrix, found.right, strict=True):
        moved = sum(
            evidence(share, cluster(0.5), trust)
            for share, trust in zip(line, found.reliable, strict=True)
        )
        assert logit(right) == pytest.approx(moved - 0.8)


def test_equal_lines_are_no_independent_judges() -> None:
    """Ten copies of what a test is wrong about do not make it right."""
    lines = [[1.0, 1.0, 1.0, 0.0]] * 2 + [[0.0, 0.0, 0.0, 1.0]] * 3
    few = estimate(lines, [cluster(0.5)] * 4, [-0.8] * 5)
    many = estimate([*lines, *lines[2:] * 3], [cluster(0.5)] * 4, [-0.8] * 14)
    assert many.reliable[3] < 0.5 < many.reliable[0]
    assert many.right[0] == pytest.approx(few.right[0], abs=0.05)
