"""Replies as small models write them: prose, several blocks, broken parts, cut ends."""

from __future__ import annotations

import ast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_brt.reproduce.model_tests.make import code_in
from pytest_brt.reproduce.model_tests.split import parses
from tests.reproduce.model_tests.replies import PIECES


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=15).map("".join)))
@example("```python\ndef test_a():\n    x = 1\n    y = (")
@example("(" * 300)
@example("x = " + "-" * 5000 + "1")
def test_what_comes_out_of_any_text_can_be_compiled(text: str) -> None:
    code = code_in(text)
    assert parses(code)
    assert code == "" or code.endswith("\n")


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("x = 1", "x = 1\n"),
        ("Sure!\n```python\nx = 1\n```\nDone.", "x = 1\n"),
        ("```\npython\nx = 1\n```", "x = 1\n"),
        ("```python\nx = 1", "x = 1\n"),
        ("```\nshow()\n```\nand\n```\ndef test_a():\n    f()\n```", "def test_a():\n    f()\n"),
        ("    def test_a():\n        f()", "def test_a():\n    f()\n"),
        (">>> x = f(1)\n>>> x\n3\n", "x = f(1)\nx\n"),
        ('```python\nSure:\n```python\ndef test_a():\n    f("""\n', ""),
        ("```python\nSure:\n```python\ndef test_a():\n    f()", "def test_a():\n    f()\n"),
        ("I cannot help with that.", ""),
        ("", ""),
    ],
)
def test_the_code_of_a_reply(reply: str, code: str) -> None:
    assert code_in(reply) == code


def test_a_broken_test_does_not_take_its_neighbours_down() -> None:
    reply = (
        "```python\nimport m\n\n\n@mark\ndef test_a():\n    assert m.f() == (\n\n\n"
        "def test_b():\n    text = '''\nat the margin\n'''\n    assert text\n\n\n"
        "def test_c():\n    assert m.g() == 1\n    x = m.h(\n```"
    )
    names = [node.name for node in ast.parse(code_in(reply)).body if hasattr(node, "name")]
    assert names == ["test_b", "test_c"]


def test_what_was_cut_off_ends_where_it_still_parses() -> None:
    code = code_in("```python\ndef test_c():\n    assert g() == 1\n    for x in h(")
    assert code == "def test_c():\n    assert g() == 1\n"
