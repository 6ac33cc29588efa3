from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.reproduce.replay.write import literal, pieces, quoted, slug


@given(st.text())
def test_literals_are_the_text(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text
    assert ast.literal_eval(quoted(text)) == text
    assert "".join(map(ast.literal_eval, pieces(text))) == text


@given(st.text(), st.text())
def test_slugs_are_parts_of_names(source: str, title: str) -> None:
    assert f"test_{slug(source, title)}".isidentifier()


def test_slugs_come_from_the_file_or_the_title() -> None:
    assert slug("bugs/ISSUE-12.md", "x") == "issue_12"
    assert slug("issue.md", "The `f` of a crash when it is empty") == "crash_empty"
    assert slug("-", "?!") == "issue"
