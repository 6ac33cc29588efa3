"""The interval of a score, against values that can be worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.score import score_interval


def test_known_intervals() -> None:
    # Of 10 observations, 5 of one kind: (5 + z²/2 ± z·√(2.5 + z²/4)) / (10 + z²), z = 1.2816.
    assert score_interval(0.5, 10) == pytest.approx((0.3122, 0.6878), abs=1e-4)
    assert score_interval(0.0, 10) == pytest.approx((0.0, 0.1411), abs=1e-4)


def test_without_votes_nothing_is_known() -> None:
    assert score_interval(0.7, 0) == pytest.approx((0.0, 1.0))


@given(st.floats(0, 1), st.floats(0, 50), st.floats(0, 50))
def test_more_votes_never_widen_the_interval(score: float, few: float, more: float) -> None:
    few, many = sorted((few, few + more))
    low, high = score_interval(score, few)
    assert 0 <= low <= score + 1e-9
    assert score - 1e-9 <= high <= 1
    narrow_low, narrow_high = score_interval(score, many)
    assert narrow_high - narrow_low <= high - low + 1e-9


@given(st.floats(0, 1), st.floats(0, 50))
def test_the_interval_of_the_contrary_is_its_mirror(score: float, votes: float) -> None:
    low, high = score_interval(score, votes)
    assert score_interval(1 - score, votes) == pytest.approx((1 - high, 1 - low), abs=1e-6)
