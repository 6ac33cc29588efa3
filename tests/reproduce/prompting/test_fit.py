"""Texts are cut where a sentence ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.reproduce.prompting.cuts import whole_sentences


def test_a_plan_is_cut_at_the_end_of_a_sentence() -> None:
    plan = "Call f(1.5) with an empty list. It returns None. Then call it again"
    assert whole_sentences(plan, 60) == "Call f(1.5) with an empty list. It returns None."
    assert whole_sentences(plan, 400) == plan


def test_where_no_sentence_ends_a_word_does() -> None:
    assert whole_sentences("call the function with nothing", 15) == "call the…"


@given(st.text(alphabet="ab .;", max_size=120), st.integers(1, 100))
def test_it_is_never_longer_and_a_beginning(text: str, most: int) -> None:
    short = whole_sentences(text, most)
    assert len(short) <= max(most, 1)
    assert text.startswith(short.removesuffix("…"))
