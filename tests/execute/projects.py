"""Small projects to run things on."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.execute.engine import Engine, Limits, Row, TestTarget
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.subject import find_subject
from pytest_brt.types import FileChange, TestRun

CORE = """\
def divide(a, b):
    return a / b


class Thing:
    def name(self):
        return "thing"
"""


def make_project(root: Path) -> Path:
    """Write a flat package `pkg` with a tests folder to `root`."""
    (root / "pkg").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "pkg" / "__init__.py").write_text("", encoding="utf-8")
    (root / "pkg" / "core.py").write_text(CORE, encoding="utf-8")
    (root / "tests" / "test_old.py").write_text("def test_old():\n    pass\n", encoding="utf-8")
    return root


def open_on(root: Path, *, seconds: float = 10.0, sandbox: str = "auto") -> Engine:
    """Return an engine for the project in `root`."""
    subject = find_subject(root, python=None, env={})
    return open_engine(subject, sandbox=sandbox, limits=Limits(seconds=seconds))


def run_one(
    engine: Engine, source: str, *, changes: tuple[FileChange, ...] = (), node: str = "test_a"
) -> TestRun:
    """Run one test of a module of its own and return what it did."""
    target = TestTarget(id="t", path="tests/test_brt_x.py", source=source, node=node)
    result = engine.run(Row(targets=(target,), changes=changes))
    assert len(result.runs) == 1, result
    return result.runs[0]
