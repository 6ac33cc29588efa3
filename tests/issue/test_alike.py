from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.alike import Likeness, is_steady, likeness, quoted_in


@pytest.mark.parametrize(
    ("quoted", "seen", "alike"),
    [
        ("9", "9", Likeness.EXACT),
        ("a \nb", "a\nb  ", Likeness.EXACT),
        ("'a'", "a", Likeness.EXACT),
        ("'a'", "a\n", Likeness.EXACT),
        ("'a\\n'", "a", Likeness.NONE),
        ("'a  b'", "'a b'", Likeness.NONE),
        ('"a"', "'a'", Likeness.EXACT),
        ("[1,2]", "[1, 2]", Likeness.EXACT),
        ("{2, 1}", "{1, 2}", Likeness.EXACT),
        ("1", "True", Likeness.NONE),
        ("1", "1.0", Likeness.NONE),
        ("F('a  b')", "F('a b')", Likeness.NONE),
        ("F( 'a b' )", "F('a b')", Likeness.SQUEEZED),
        ("x**2 + 1", "x**2+1", Likeness.SQUEEZED),
        ("┌───┐\n│ 1 │\n└───┘", "1", Likeness.SQUEEZED),
        ("<A at 0x7f00aa>", "<A at 0x7fbbcc>", Likeness.EXACT),
        ("numpy.ndarray", "<class 'numpy.ndarray'>", Likeness.SQUEEZED),
        (r"$\displaystyle x^{2}$", "x^{2}", Likeness.SQUEEZED),
        ("9", "8", Likeness.NONE),
        ("", "", Likeness.NONE),
        ("a, b", "b, a", Likeness.NONE),
        ("[1, 2, 3]", "[1, 3, 2]", Likeness.NONE),
    ],
)
def test_likeness(quoted: str, seen: str, alike: Likeness) -> None:
    assert likeness(quoted, seen) is alike


def test_a_line_of_a_longer_output_is_a_quotation() -> None:
    assert quoted_in("9", "8\n9\n10") is Likeness.SQUEEZED
    assert quoted_in("9", "89") is Likeness.NONE
    assert quoted_in("Matrix([1, 2])", "it says Matrix([1, 2]), oh") is Likeness.SQUEEZED


def test_addresses_are_not_steady() -> None:
    assert not is_steady("<A object at 0x7f12345678>")
    assert is_steady("0x1f")


@given(st.text(), st.text())
def test_likeness_is_symmetric(one: str, other: str) -> None:
    assert likeness(one, other) is likeness(other, one)


@given(st.text(min_size=1))
def test_everything_is_like_itself(text: str) -> None:
    assert (likeness(text, text) is Likeness.EXACT) == bool(text.strip())
