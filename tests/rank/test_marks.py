"""Other punctuation for a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.marks import remarked

LETTERS = "ab1 ()[]{}<>,;:|-_+.!?*~^@#&$'\"`\\/"


@pytest.mark.parametrize(
    ("text", "others"),
    [
        (r"\[", (r"\]", r"\(", r"\)", r"\{", r"\}")),
        (r"\[a\]", (r"\(a\)", r"\{a\}", r"\<a\>")),
        ("a > b", ("a < b",)),
        ("a)", ("a(", "a[", "a]", "a{", "a}")),
        ("(a]", (")a]", "(a[", "[a]", "(a(", "]a]", "(a)", "{a]", "(a{", "}a]", "(a}")),
        ("x, y, z", ("x; y; z", "x: y: z", "x| y| z")),
        ("'a'", ('"a"', "`a`")),
        ("it's", ()),
        ("'a \"b\"'", ('`a "b"`', "'a `b`'")),
        ("2020-01-02", ()),
        ("-5", ()),
        ("v-5", ("v_5", "v+5")),
        ("12:30", ()),
        ("http://a", ()),
        ("%s and \\", ()),
    ],
)
def test_a_mark_becomes_another_of_its_kind(text: str, others: tuple[str, ...]) -> None:
    assert remarked(text) == others


def test_each_mark_has_its_turn_first() -> None:
    assert remarked("(a) b-c!")[:3] == ("[a] b-c!", "(a) b_c!", "(a) b-c.")


@given(st.text(LETTERS, max_size=12))
def test_letters_stay_and_what_was_balanced_is_still(text: str) -> None:
    others = remarked(text)
    assert len(set(others)) == len(others)
    assert text not in others
    for other in others:
        assert len(other) == len(text)
        for one, two in zip(text, other, strict=True):
            assert one == two or not (one.isalnum() or one in " \\/" or two.isalnum())
        if is_balanced(text):
            assert is_balanced(other)


def is_balanced(text: str) -> bool:
    """Say whether brackets, those for "less" too, are all closed in their order."""
    waiting = []
    for mark in text:
        if mark in "([{<":
            waiting.append(mark)
        elif mark in ")]}>" and (not waiting or "([{<".index(waiting.pop()) != ")]}>".index(mark)):
            return False
    return not waiting
