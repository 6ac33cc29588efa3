"""What docs/architecture.md says of the rooms, and no contract about imports can tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pytest_brt"


def callers(name: str) -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id == name:
                yield path.relative_to(PACKAGE).as_posix()


def test_one_file_judges() -> None:
    assert set(callers("Judgement")) == {"oracle/judge.py"}


def test_what_runs_in_the_project_imports_nothing_of_ours() -> None:
    for path in (PACKAGE / "sandbox/inside").glob("*.py"):
        assert "pytest_brt" not in path.read_text("utf-8"), path.name


def test_every_room_is_named() -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    rooms = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert {room for room in rooms if f"{room}/" not in page} == set()


def test_no_test_module_is_imported_by_another() -> None:
    """What several modules of tests need lies in `tests.support`, or beside them in their room."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                last = node.module.rpartition(".")[2]
                if last == "conftest" or last.startswith("test_"):
                    found.append(f"{path.name}: {node.module}")
    assert found == []
