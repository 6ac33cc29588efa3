"""A long function is shown by the statements that count, and every gap is said."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.reproduce.prompting.slices import GAP, sliced
from pytest_brt.syntax import parse

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
NODE = parse(FUNCTION).body[0]
assert isinstance(NODE, ast.FunctionDef)
LINES = FUNCTION.split("\n")


def shown(word: str, most: int) -> list[str]:
    assert isinstance(NODE, ast.FunctionDef)
    return sliced(NODE, LINES, lambda text: 10.0 * (word in text) + (word == ""), most)


def test_what_counts_is_kept_with_its_heads_and_comments() -> None:
    text = "\n".join(shown("needle(\n", 150))
    assert text.startswith("@mark\ndef long(\n    a,\n    b=1,\n):\n    # …\n")
    third = "    third = needle(\n        first,\n        second,\n    )"
    assert f"    # About the third.\n{third}" in text
    assert text.endswith(f"\n    {GAP}")
    assert "fourth" not in text


def test_clauses_that_are_left_out_are_not_taken_for_all() -> None:
    text = "\n".join(shown("sixth", 60))
    assert "    if third:\n        # …\n        ...\n" in text
    assert "    elif second:\n        # …\n        ...\n    else:\n        sixth = " in text
    last = "\n".join(shown("twelfth", 60))
    assert "    except ValueError:\n        # …\n        ...\n    finally:\n        twelfth" in last


def test_an_elif_that_says_nothing_is_a_gap() -> None:
    text = "\n".join(shown("return fourth", 55))
    assert "        return fourth\n    # …\n" in text
    assert "elif" not in text


def test_nothing_is_shown_when_nothing_counts() -> None:
    assert shown("nowhere", 200) == []
    node = parse("def f(): return needle").body[0]
    assert isinstance(node, ast.FunctionDef)
    assert sliced(node, ["def f(): return needle"], lambda _: 1.0, 500) == []


@given(
    st.sampled_from(["needle", "fourth", "fifth", "item", "eleventh", "inner", "x", "last", ""]),
    st.integers(0, 900),
)
def test_whatever_is_shown_is_python_and_stands_in_the_source(word: str, most: int) -> None:
    found = shown(word, most)
    ast.parse("\n".join(found))
    own = [line for line in found if line.strip() not in (GAP, "...")]
    places = iter(LINES)
    assert all(line in places for line in own), "lines are in the order of the source"


def test_without_its_docstring_a_function_may_fit() -> None:
    whole = FUNCTION.rstrip("\n")
    code = whole.replace('    """Say it."""', f"    {GAP}")
    assert shown("nowhere", len(whole)) == whole.split("\n")
    assert shown("nowhere", len(whole) - 1) == code.split("\n")
    assert shown("nowhere", len(code) - 1) == []


def test_with_room_for_everything_all_of_it_is_shown() -> None:
    assert shown("", 10_000) == FUNCTION.rstrip("\n").split("\n")
