"""A mark comes off when the bug is fixed, and not before."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import CLAMP, FIXES, SOURCE


@pytest.mark.slow
def test_mark_and_unmark(project: pytest.Pytester) -> None:
    suite = project.path / "tests/test_interval.py"
    original = suite.read_text("utf-8")
    landed = project.runpytest_subprocess(
        "--brt-issue=clamp.md", "--brt-write=into", "--brt-mark=xfail", "-q"
    )
    assert landed.ret == 0, landed.stdout.str()
    landed.stdout.fnmatch_lines(["written: tests/test_interval.py"])
    marked = suite.read_text("utf-8")
    assert marked.count("@pytest.mark.xfail(strict=True, reason=") == 1
    assert "clamp() always returns the lower bound" in marked
    plain = ("-p", "no:brt", "tests/test_interval.py")
    project.runpytest_subprocess(*plain).assert_outcomes(passed=2, xfailed=1)

    command = (sys.executable, "-m", "pytest_brt", "unmark", "tests/test_interval.py")
    early = project.run(*command)
    assert early.ret == 1
    early.stderr.fnmatch_lines(["tests/test_interval.py::test_*: still marked: AssertionError*"])
    assert suite.read_text("utf-8") == marked

    fixed = SOURCE.replace(CLAMP, FIXES["a-right"])
    (project.path / "interval/__init__.py").write_text(fixed, "utf-8")
    project.runpytest_subprocess(*plain).assert_outcomes(passed=2, failed=1)
    done = project.run(*command)
    assert done.ret == 0, done.stderr.str()
    done.stdout.fnmatch_lines(["tests/test_interval.py::test_*: unmarked, it passes"])
    assert "xfail" not in suite.read_text("utf-8")
    for line in original.splitlines():
        assert line in suite.read_text("utf-8")
    project.runpytest_subprocess(*plain).assert_outcomes(passed=3)


def test_a_file_that_is_not_there(project: pytest.Pytester) -> None:
    result = project.run(sys.executable, "-m", "pytest_brt", "unmark", "tests/none.py")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["pytest-brt: unmark: no such file in the project: 'tests/none.py'"]
    )
