from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.shown import plain


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = plain(text)
    assert len(shown) == len(text)
    assert all(letter.isprintable() or letter in "\n\t" for letter in shown)
    assert plain(shown) == shown
    assert [a for a, b in zip(text, shown, strict=True) if a.isprintable() and a != b] == []
