"""Where values differ, in words."""

from __future__ import annotations

from pytest_brt.render.words import call_words
from pytest_brt.types import Given, Telling


def telling(expression: str, *gives: Given, setup: tuple[str, ...] = ()) -> Telling:
    """Return what a call gives that was varied."""
    change = "2 instead of 1"
    return Telling(test="t0", setup=setup, expression=expression, gives=gives, change=change)


def test_of_long_values_the_place_is_shown_where_they_differ() -> None:
    gives = [Given(patches=(end,), text="=" * 200 + end, raised="") for end in "ab"]
    shared = "…" + "=" * 20
    words = f"`f(1)` gives `{shared}a` (a), gives `{shared}b` (b)"
    assert call_words(telling("f(1)", *gives)) == words


def test_of_a_long_set_up_what_is_changed_is_shown() -> None:
    gives = Given(patches=("a",), text="1")
    for length, code in (3, "x = 222; f(x)"), (300, "…; f(x)  # 2 instead of 1"):
        made = telling("f(x)", gives, setup=("import f", f"x = {length * '2'}"))
        assert call_words(made) == f"`{code}` gives `1` (a)"
