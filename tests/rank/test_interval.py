"""The Beta distribution, against values that can be worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.interval import beta_cdf, beta_interval, beta_quantile

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
