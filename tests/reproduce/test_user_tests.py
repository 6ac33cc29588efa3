"""Tests that a person gave, as they are run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_brt.reproduce.user_tests import load_targets

MARKED = """\
import pytest


@pytest.mark.xfail(strict=True, reason="waits for its fix")
def test_a():
    assert 0


class TestB:
    @pytest.mark.parametrize("n", [1])
    @pytest.mark.xfail(
        strict=True,
        reason="waits for its fix",
    )
    def test_b(self, n):
        assert 0

    @pytest.mark.xfail(reason="may pass")
    def test_c(self):
        assert 0
"""


def marks(source: str) -> list[str]:
    functions = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef))
    return [ast.unparse(mark) for function in functions for mark in function.decorator_list]


@pytest.mark.parametrize("place", ["tests/test_x.py", "../test_x.py"])
def test_strict_marks_are_taken_off_in_what_runs_only(tmp_path: Path, place: str) -> None:
    root = tmp_path / "root"
    (root / "tests").mkdir(parents=True)
    file = root / place
    file.write_text(MARKED, encoding="utf-8")
    (target,) = load_targets([str(file)], root, "tests")
    assert target.path == "tests/test_x.py"
    assert marks(target.source or "") == [
        "pytest.mark.parametrize('n', [1])",
        "pytest.mark.xfail(reason='may pass')",
    ]
    assert file.read_text(encoding="utf-8") == MARKED


@pytest.mark.parametrize(
    "text",
    [
        "def test_a(:\n",
        "# coding: nowhere\n@pytest.mark.xfail(strict=True)\ndef test_a(): pass\n",
        "def test_a():\n    assert 'é'\n",
    ],
)
def test_what_has_no_marks_or_cannot_be_read_stays(tmp_path: Path, text: str) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(text, encoding="utf-8")
    (target,) = load_targets([str(file)], tmp_path, "tests")
    assert target.source == text
