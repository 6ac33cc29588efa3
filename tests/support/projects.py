"""Small projects to run things on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.process import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import open_sandbox
from pytest_brt.subject import find_subject
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


def open_on(
    root: Path,
    *,
    python: str | None = None,
    env: Mapping[str, str] | None = None,
    sandbox: str = "auto",
    net: str = "none",
    shown: Sequence[str] = (),
    seconds: float = 60.0,
    jobs: int = 1,
) -> Runner:
    """Return an engine for the project in `root`."""
    opened = open_sandbox(sandbox, net=net, shown=shown)
    subject = find_subject(root, python=python, env=env or {}, sandbox=opened)
    return Runner(subject, opened, limits=Limits(seconds=seconds), jobs=jobs)


def run_one(
    engine: Runner,
    source: str,
    *,
    changes: tuple[FileChange, ...] = (),
    node: str = "test_a",
    seconds: float = math.inf,
) -> TestRun:
    """Run one test of a module of its own, for `seconds` at most, and return what it did."""
    target = Test(id="t", path="tests/test_brt_x.py", source=source, node=node)
    (run,) = engine.run([target], changes, test_seconds=seconds)
    return run
