from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.model.gbnf import whole_numbers


def as_pattern(rule: str) -> re.Pattern[str]:
    """Translate the little that `whole_numbers` uses of the notation."""
    parts = [re.sub(r'"([^"]*)"', r"\1", part).replace(" ", "") for part in rule.split(" | ")]
    return re.compile("|".join(f"(?:{part})" for part in parts))


@settings(deadline=None, max_examples=60)
@given(low=st.integers(-2500, 2500), span=st.integers(0, 1200))
def test_exactly_the_numbers_of_the_range_match(low: int, span: int) -> None:
    pattern = as_pattern(whole_numbers(low, low + span))
    for number in range(low - 15, low + span + 15):
        assert bool(pattern.fullmatch(str(number))) == (low <= number <= low + span), number


@settings(deadline=None, max_examples=60)
@given(low=st.integers(0, 10**12), span=st.integers(0, 10**12), other=st.integers(0, 3 * 10**12))
def test_large_ranges(low: int, span: int, other: int) -> None:
    pattern = as_pattern(whole_numbers(low, low + span))
    for number in (low - 1, low, low + span, low + span + 1, other):
        assert bool(pattern.fullmatch(str(number))) == (low <= number <= low + span), number


def test_no_leading_zeros_and_no_minus_zero() -> None:
    pattern = as_pattern(whole_numbers(-5, 120))
    for text in ("007", "-0", "00", "", "1.0", "+1"):
        assert not pattern.fullmatch(text)
