"""The Beta distribution, against values that can be worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.score import beta_cdf, beta_interval, beta_quantile

shapes = st.floats(0.05, 60)


@pytest.mark.parametrize("x", [0.0, 0.1, 0.5, 0.93, 1.0])
def test_known_distributions(x: float) -> None:
    assert beta_cdf(x, 1, 1) == pytest.approx(x)
    assert beta_cdf(x, 2, 1) == pytest.approx(x**2)
    assert beta_cdf(x, 1, 3) == pytest.approx(1 - (1 - x) ** 3)
    assert beta_cdf(x, 2, 2) == pytest.approx(3 * x**2 - 2 * x**3)


@given(st.floats(0.001, 0.999), shapes, shapes)
def test_the_two_tails_mirror_each_other(x: float, a: float, b: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(1 - beta_cdf(1 - x, b, a), abs=1e-9)


@given(st.floats(0.05, 0.95), st.floats(0.5, 60), st.floats(0.5, 60))
def test_a_quantile_is_the_inverse(share: float, a: float, b: float) -> None:
    assert beta_cdf(beta_quantile(share, a, b), a, b) == pytest.approx(share, abs=1e-6)


@given(st.floats(0, 1), st.floats(0, 50), st.floats(0, 50))
def test_more_votes_never_widen_the_interval(mean: float, few: float, more: float) -> None:
    few, many = sorted((few, few + more))
    low, high = beta_interval(mean, few)
    assert 0 <= low <= mean <= high <= 1
    if 0.1 < mean < 0.9:
        narrow_low, narrow_high = beta_interval(mean, many)
        assert narrow_high - narrow_low <= high - low + 1e-9


@given(st.floats(0.2, 0.8), st.floats(3, 50), st.floats(0.1, 0.95))
def test_the_interval_holds_its_mass_with_equal_tails(
    mean: float, votes: float, mass: float
) -> None:
    low, high = beta_interval(mean, votes, mass)
    if mean in (low, high):  # a narrow one of a skewed distribution is widened to the mean
        return
    a, b = mean * (votes + 2), (1 - mean) * (votes + 2)
    assert beta_cdf(low, a, b) == pytest.approx((1 - mass) / 2, abs=1e-6)
    assert beta_cdf(high, a, b) == pytest.approx((1 + mass) / 2, abs=1e-6)


def test_without_votes_two_stand_for_knowing_nothing() -> None:
    assert beta_interval(0.5, 0) == pytest.approx((0.1, 0.9))  # Beta(1, 1) is even


@given(st.floats(0, 1), st.floats(0, 50))
def test_the_interval_of_the_contrary_is_its_mirror(mean: float, votes: float) -> None:
    low, high = beta_interval(mean, votes)
    mirrored = beta_interval(1 - mean, votes)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-6)
