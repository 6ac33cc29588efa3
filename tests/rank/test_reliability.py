"""How far tests are trusted before any patch is seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.reliability import logit, reliability, sigmoid
from tests.rank.rows import judged


@pytest.mark.parametrize(
    ("agreeing", "factor"),
    [(1, 1.0), (2, 2.1), (3, 2.1), (4, 4.3), (9, 4.3), (10, 6.8), (19, 6.8), (20, 11.5)],
)
def test_agreement_multiplies_the_odds(agreeing: int, factor: float) -> None:
    found = reliability(judged(0, 0.3), agreeing)
    assert found / (1 - found) == pytest.approx(factor * 0.3 / 0.7)


@given(st.floats(0, 1), st.integers(1, 50))
def test_nothing_is_ever_certain(confidence: float, agreeing: int) -> None:
    assert 0.02 <= reliability(judged(0, confidence), agreeing) <= 0.98


@given(st.floats(-30, 30))
def test_odds_and_shares_are_inverse(odds: float) -> None:
    assert logit(sigmoid(odds)) == pytest.approx(odds, abs=1e-2)
    assert sigmoid(-odds) == pytest.approx(1 - sigmoid(odds))


@given(st.floats(-1e6, 1e6))
def test_any_odds_are_a_share(odds: float) -> None:
    assert 0 <= sigmoid(odds) <= 1
