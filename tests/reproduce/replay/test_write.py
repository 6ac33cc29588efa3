from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.edit.source_text import slug
from pytest_brt.oracle.assertion import docstring, literal, pieces, quoted


@given(st.text())
def test_literals_are_the_text(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text
    assert ast.literal_eval(quoted(text)) == text
    assert "".join(map(ast.literal_eval, pieces(text))) == text


@given(st.text())
def test_slugs_are_parts_of_names(title: str) -> None:
    assert f"test_{slug(title)}".isidentifier()
    assert len(slug(title)) <= 40


def test_slugs_come_from_the_title_in_whole_words() -> None:
    assert slug("The `f` of a crash when it is empty") == "crash_empty"
    assert (
        slug("Internationalisation misinterprets pluralisations")
        == "internationalisation_misinterprets"
    )
    assert slug("?!") == "issue"


def told(sentence: str) -> str:
    """Return the docstring that a test gets to have."""
    source = "\n".join(["def test_a():", *docstring(sentence)])
    return ast.get_docstring(ast.parse(source).body[0]) or ""  # type: ignore[arg-type]


@given(st.text())
def test_docstrings_parse_and_say_the_sentence(sentence: str) -> None:
    words = " ".join(told(sentence).split())
    seen = "".join(letter if letter.isprintable() else " " for letter in sentence)
    assert words.removesuffix(" …") in " ".join(seen.replace('"""', "'''").split())


@given(st.lists(st.text("abc\\\"'.-", min_size=1, max_size=20), min_size=1, max_size=80))
def test_docstrings_keep_to_the_width(words: list[str]) -> None:
    lines = docstring(" ".join(words))
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 8


def test_blanks_inside_a_quoted_value_stay() -> None:
    assert told('`pad("a   b",\n     4)` gives "a    b"') == '`pad("a   b", 4)` gives "a    b" '
    # Where a line has to be broken, it is not broken there.
    assert f"'x{' ' * 30}y'" in told(f"{'word ' * 14}'x{' ' * 30}y' and more.")
