"""The page about the papers names tests, and there are such tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/papers.md").read_text("utf-8")
ROW = re.compile(r"^\| (?P<numbers>\d[\d, -]*) \|.*\| (?P<state>yes|other|part|no|–) \|", re.M)


def test_every_test_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 50
    for path in {path for path, _ in named}:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert not {name for file, name in named if file == path} - there, path


def test_every_requirement_has_one_row() -> None:
    found: list[int] = []
    for row in ROW.finditer(PAGE):
        for part in row["numbers"].split(", "):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    assert sorted(found) == list(range(1, 88))


def test_what_is_as_in_the_paper_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if "| yes |" in line]
    assert [line for line in rows if "::" not in line] == []
