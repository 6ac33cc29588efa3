"""Lines are broken where that changes nothing, and only there."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.edit.import_order import with_sorted_imports
from pytest_brt.edit.line_width import fitted
from pytest_brt.edit.source_text import WIDTH

EXPRESSIONS = st.recursive(
    st.sampled_from(["name", "1", "'a, (b'", '"]"', "f'{x!r:>{y}}'", "a.b", "not c", "-d ** 2"]),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda parts: f"[{', '.join(parts)}]")
        | st.lists(inner, max_size=3).map(lambda parts: f"call({', '.join(parts)})")
        | st.tuples(inner, inner).map(lambda pair: f"{pair[0]} == ({pair[1]}, {{'k': {pair[0]}}})")
        | inner.map(lambda part: f"[one for one, other in ({part})]")
        | inner.map(lambda part: f"x[1:{part}]")
    ),
    max_leaves=30,
)


@given(
    EXPRESSIONS, st.sampled_from(["assert {}\n", "def f():\n    return {}\n", "x = {}  # why\n"])
)
def test_the_same_tree_and_every_line_that_can_be_broken(source: str, frame: str) -> None:
    text = frame.format(source)
    after = fitted(text)
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(text))
    assert fitted(after) == after
    if max(map(len, text.splitlines())) <= WIDTH:
        assert after == text


def test_what_is_said_in_strings_stays() -> None:
    text = f'"""Doc ({"word, " * 20})."""\nx = """{"long, " * 20}(a, b)\n{"long, " * 20}"""\n'
    assert fitted(text) == text
    assert fitted("def broken(:\n" + "x" * 90) == "def broken(:\n" + "x" * 90


@pytest.mark.skipif(sys.version_info < (3, 12), reason="an f-string is one token before")
def test_an_f_string_is_not_broken_for_an_older_python() -> None:
    text = f"x = f'{{call({', '.join(['argument'] * 12)})}}'\n"
    assert fitted(text) == text


def test_imports_are_sorted_in_sections(tmp_path: Path) -> None:
    (tmp_path / "own.py").touch()
    text = (
        "from own import b, A, C_D\nimport pytest\nimport os, json\nfrom pytest import raises\n"
        "from __future__ import annotations\nimport own\nx = 1\n"
    )
    assert with_sorted_imports(text, tmp_path) == (
        "from __future__ import annotations\n\nimport json\nimport os\n\nimport pytest\n"
        "from pytest import raises\n\nimport own\nfrom own import C_D, A, b\nx = 1\n"
    )
    kept = "import os  # why\nimport json\n"
    assert with_sorted_imports(kept, tmp_path) == kept
