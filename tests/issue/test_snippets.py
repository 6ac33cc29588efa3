from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.snippets import statements
from pytest_brt.pysource.parse import parses


def sources(text: str) -> list[str]:
    return [statement.source for statement in statements(textwrap.dedent(text).strip("\n"))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nf(a)", ["a = 1", "f(a)"]),
        ("f(“a”)", ['f("a")']),
        ("}\n)", []),
        ("f(1)  <--- this is wrong", ["f(1)"]),
        ("%matplotlib inline\nf(1)", ["f(1)"]),
        ("some words here\nf(1)\nmore words", ["f(1)"]),
        ("    f(1)\n    g(2)", ["f(1)", "g(2)"]),
        ("def f():\n    return 1\n\nf(", ["def f():\n    return 1"]),
        ("if __name__ == '__main__':\n    f(1)\n    g(2)", ["f(1)", "g(2)"]),
        ("@deco\nclass A:\n    x = 1", ["@deco\nclass A:\n    x = 1"]),
        ("f(1)\nfor a in b:\n    f(a)\n    oh no\n    g(a)\ng(1)", ["f(1)", "g(1)"]),
        ("@deco oh no\ndef f():\n    pass\n\ng(1)", ["g(1)"]),
        ("import m\nm.f(1) oh no\nm.f(2)", ["import m", "m.f(2)"]),
    ],
)
def test_statements(text: str, expected: list[str]) -> None:
    assert sources(text) == expected


def test_comments_above_beside_and_below() -> None:
    (first, second) = statements("# fine\nf(1)  # 2\n# -> 3\n\ng(2)\n")
    assert (first.above, first.beside, first.below) == ("fine", "2", "-> 3")
    assert (second.above, second.beside, second.below) == ("", "", "")


def test_remarks_behind_arrows_are_kept_as_comments() -> None:
    (statement,) = statements("f(1)  <-- wrong")
    assert statement.beside == "wrong"


def test_an_arrow_in_a_comment_takes_nothing_apart() -> None:
    text = "class A(B):\n    x = 1\n\n    def f(self):\n        print(x)  # <-- a list\n\nA().f()"
    first, second = statements(text)
    assert first.source == text.partition("  #")[0]
    assert first.beside == "a list"
    assert (second.source, second.beside) == ("A().f()", "")
    (called,) = statements("f(1)  # <-- wrong")
    assert (called.source, called.beside) == ("f(1)", "wrong")


def test_an_arrow_below_a_statement_is_a_comment_of_it() -> None:
    (first, second) = statements("f(1)\n-> 3\n\ng(2)\n=> 'a'\n")
    assert (first.below, second.below) == ("-> 3", "=> 'a'")


def test_lines_may_end_in_carriage_returns() -> None:
    assert sources("\rx = 1\r\ny = 2\r") == ["x = 1", "y = 2"]


@given(st.text())
def test_whatever_comes_out_parses(text: str) -> None:
    for statement in statements(text):
        assert parses(statement.source)


@given(
    st.lists(
        st.sampled_from(
            ["f(1", ")", "print x", "    y = 2", "def f():", "...", "# c", "", "x = [", "]",
             ">>> a", "if x:", "else:", "except E, e:", "'''", "a <-- b", "\tz", "1. f(2)", "“q”"]
        )
    )
)  # fmt: skip
def test_whatever_comes_out_of_broken_code_parses(lines: list[str]) -> None:
    for statement in statements("\n".join(lines)):
        assert parses(statement.source)
        assert statement.source.strip()


def test_of_a_very_long_block_the_beginning_is_read() -> None:
    assert len(statements("x = 1\n" * 600)) == 400
