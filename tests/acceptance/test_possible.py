"""A report that only hints at its bug: what is shown, written, and told to scripts."""

from __future__ import annotations

import sys

import pytest

from tests.support.interval import CLAMP
from tests.support.reports import read_report

CODE = "# clamp is odd\n\n```python\nfrom interval import clamp\nclamp(5, 0, 10){}\n```\n\n"
#: Fixes often give another value than the one that is stated; the wrong one that is shown is gone.
REPORT, COMPLAINT = CODE.format("") + "`clamp(5, 0, 10)` should be `5`.\n", CODE.format("  # 0")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    package = pytester.mkpydir("interval")
    package.joinpath("__init__.py").write_text(
        f"def clamp(value, low, high):\n    {CLAMP}\n", encoding="utf-8"
    )
    pytester.path.joinpath("issue.md").write_text(REPORT, encoding="utf-8")
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_subprocess("--brt-issue=issue.md", "--brt-report=out.json", *options)


def test_it_is_listed_as_possible_and_not_written_but_one_of_a_complaint_is(
    project: pytest.Pytester,
) -> None:
    project.path.joinpath("sure.md").write_text(COMPLAINT, "utf-8")
    result = run(project, "--brt-issue=sure.md", "--brt-write=new")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "Possibly reproduced: * fails (*% sure), but the report may mean something else; *",
            "Possibly reproduced: * fails (74% sure), but it only*; add to*",
            "written: *",
            "*2 possibly reproduced*in*",
        ]
    )
    report = read_report(project.path.joinpath("out.json"))
    unsure = report["issues"][0]["id"]
    (test,) = [test for test in report["tests"] if test["issue"] == unsure]
    assert (test["candidate"], test["counts"]) == (True, False)
    (written,) = project.path.rglob("test_*.py")
    assert "assert clamp(5, 0, 10) != 0" in written.read_text("utf-8")


def accept(project: pytest.Pytester) -> None:
    """Call the first test of the last run right."""
    done = project.run(sys.executable, "-m", "pytest_brt", "review", "--accept", "T1")
    assert done.ret == 0, done.stderr.str()


def test_it_is_shown_and_written_once_it_is_accepted(project: pytest.Pytester) -> None:
    shown = run(project)
    shown.stdout.fnmatch_lines(["*not written ('pytest-brt review' accepts it, then --brt-write *"])
    accept(project)
    result = run(project, "--brt-write=new")
    result.stdout.fnmatch_lines(["written: *"])
    again = run(project, "--brt-write=new")
    again.stdout.fnmatch_lines(["already there: *test_clamp_odd.py"])
    again.stdout.no_fnmatch_line("written: *")
    assert [path.name for path in project.path.rglob("test_*.py")] == ["test_clamp_odd.py"]
