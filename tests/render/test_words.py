"""Where values differ, in words."""

from __future__ import annotations

from pytest_brt.render.words import call_words
from pytest_brt.types import Given


def test_of_long_values_the_place_is_shown_where_they_differ() -> None:
    gives = [Given(patches=(end,), text="=" * 200 + end, raised="") for end in "ab"]
    shared = "…" + "=" * 20
    words = f"`f(1)` gives `{shared}a` (a), gives `{shared}b` (b)"
    assert call_words((), "f(1)", gives) == words
