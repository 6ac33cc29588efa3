"""A mark comes off when the bug is fixed, and not before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.edit.xfail import mark_xfail
from tests.support.interval import CLAMP, FIXES, SOURCE

INSIDE = "def test_inside():\n    assert clamp(5, 0, 10) == 5\n"


@pytest.mark.slow
def test_mark_and_unmark(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS")
    suite = project.path / "tests/test_interval.py"
    original = f"{suite.read_text('utf-8')}\n\n{INSIDE}"
    marked = mark_xfail("t.py", original.encode(), "test_inside", "clamp() is wrong")
    suite.write_bytes(marked)
    plain = ("-p", "no:brt", "tests/test_interval.py")
    project.runpytest_subprocess(*plain).assert_outcomes(passed=2, xfailed=1)

    command = (sys.executable, "-m", "pytest_brt", "unmark", "tests/test_interval.py")
    early = project.run(*command)
    assert early.ret == 1
    early.stderr.fnmatch_lines(
        ["tests/test_interval.py::test_inside: still marked: AssertionError*"]
    )
    assert suite.read_bytes() == marked

    fixed = SOURCE.replace(CLAMP, FIXES["a-right"])
    (project.path / "interval/__init__.py").write_text(fixed, "utf-8")
    project.runpytest_subprocess(*plain).assert_outcomes(passed=2, failed=1)
    done = project.run(*command)
    assert done.ret == 0, done.stderr.str()
    done.stdout.fnmatch_lines(["tests/test_interval.py::test_inside: unmarked, it passes"])
    assert suite.read_text("utf-8") == original


def test_a_file_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    assert main(["unmark", "tests/none.py"]) == 4
    assert "no such file in the project: 'tests/none.py'" in capsys.readouterr().err
