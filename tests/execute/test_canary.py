"""The last guard against verdicts about code that was never run, on real projects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.execute.engine import Engine, Row, TestTarget
from pytest_brt.render.causes import run_words
from pytest_brt.types import FileChange, TestRun, Verdict
from tests.support.projects import make_project, open_on

PLAIN = "def test_a():\n    pass\n"


@pytest.fixture(params=["ns", "none"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Return an engine on a project one of whose modules hides behind a built-in one."""
    root = make_project(tmp_path / "project")
    (root / "errno.py").write_text("ENOENT = 0\n", encoding="utf-8")
    engine = open_on(root, sandbox=request.param)
    yield engine
    engine.close()


def run(engine: Engine, *changes: FileChange) -> TestRun:
    target = TestTarget(id="t", path="tests/test_x.py", source=PLAIN, node="test_a")
    (found,) = engine.run(Row(targets=(target,), changes=changes)).runs
    return found


CORE = FileChange(path="pkg/core.py", content=b"def divide(a, b):\n    return 7\n")


def test_a_module_that_is_not_what_is_imported_makes_cells_invalid(engine: Engine) -> None:
    hidden = run(engine, FileChange(path="errno.py", content=b"loads = 1\n"))
    assert hidden.verdict is Verdict.INVALID
    assert run_words(hidden) == "a changed errno.py is not what is imported as errno"
    assert run(engine, CORE).verdict is Verdict.INVALID
    assert run(engine).verdict is Verdict.PASS


@pytest.mark.parametrize("engine", ["ns"], indirect=True)
def test_neither_a_module_that_is_imported_nor_one_that_a_patch_brings_does(
    engine: Engine,
) -> None:
    run(engine, FileChange(path="types.py", content=b"x = 1\n"))
    spoilt = FileChange(
        path="pkg/__init__.py",
        content=b"import sys\nsys.modules['pkg.core'] = type(sys)('pkg.core')\n",
    )
    run(engine, FileChange(path="csv.py", content=b"x = 1\n"), spoilt)
    assert run(engine, CORE).verdict is Verdict.PASS
    assert run(engine).verdict is Verdict.PASS
