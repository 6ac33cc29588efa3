"""Of a function that is too long the statements are shown that count, and every gap is said."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.words import terms_of
from pytest_brt.reproduce.prompting.shown_code import GAP, Page, show

FUNCTION = '''\
@mark
def long(
    a,
    b=1,
):
    """Say it."""
    first = 1
    second = 2
    # About the third.
    third = needle(
        first,
        second,
    )
    if third:
        fourth = 4
        return fourth
    elif second:
        fifth = 5
    else:
        sixth = needle(6)
    for item in a:
        # Each.
        seventh = item
        if item: continue
        eighth = 8
    else:
        ninth = 9
    try:
        tenth = 10
    except ValueError:
        eleventh = 11
    finally:
        twelfth = needle(12)
    with a as one, b as two:
        def inner(x):
            return x
        thirteenth = 13
    last = 14
    return last
'''


def shown(word: str, most: int) -> list[str]:
    page = Page.of(FUNCTION)
    show(["long"], page, most + 120, dict.fromkeys(terms_of(word), 1.0))
    return page.text().split("\n")


def test_what_counts_is_kept_with_its_heads_and_comments() -> None:
    text = "\n".join(shown("first third", 200))
    assert text.startswith("@mark\ndef long(\n    a,\n    b=1,\n):\n    first = 1\n")
    third = "    third = needle(\n        first,\n        second,\n    )"
    assert f"    # About the third.\n{third}" in text
    assert text.endswith(f"\n    {GAP}")
    assert "fifth" not in text


def test_clauses_that_are_left_out_are_not_taken_for_all() -> None:
    text = "\n".join(shown("sixth", 130))
    assert "    if third:\n        # …\n        ...\n    elif second:\n        fifth = 5\n" in text
    assert "    else:\n        sixth = " in text
    last = "\n".join(shown("tenth", 130))
    assert "    except ValueError:\n        # …\n        ...\n    finally:\n        # …\n" in last


def test_an_elif_that_says_nothing_is_a_gap() -> None:
    text = "\n".join(shown("fourth", 130))
    assert "        return fourth\n    # …\n" in text
    assert "elif" not in text


def test_nothing_is_shown_when_nothing_counts() -> None:
    assert shown("nowhere", 200) == [""]
    page = Page.of("def f(): return " + " + ".join(["needle"] * 99))
    show(["f"], page, 300, {"needle": 1.0})
    assert page.text() == ""


@given(
    st.sampled_from(["needle", "fourth", "fifth", "item", "eleventh", "inner", "x", "last", ""]),
    st.integers(0, 900),
)
def test_whatever_is_shown_is_python_and_stands_in_the_source(word: str, most: int) -> None:
    found = shown(word, most)
    ast.parse("\n".join(found))
    own = [line for line in found if line.strip() not in (GAP, "...", "")]
    places = iter(FUNCTION.split("\n"))
    assert all(line in places for line in own), "lines are in the order of the source"


def test_without_its_docstring_a_function_may_fit() -> None:
    whole = FUNCTION.rstrip("\n")
    assert shown("nowhere", len(whole)) == whole.split("\n")
    code = "\n".join(shown("nowhere", len(whole) - 1))
    assert code == whole.replace('    """Say it."""\n', "")
