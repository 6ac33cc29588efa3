"""What somebody who tries it for the first time meets beside the results."""

from __future__ import annotations

import sys

import pytest

from tests.support.reports import patches_of, read_report

pytestmark = pytest.mark.slow


def test_no_next_command_is_said_that_finds_nothing(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("--brt-issue=clamp.md", "-p", "no:cacheprovider")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("next:*")


def test_patches_may_be_what_a_shell_makes_of_a_pattern(project: pytest.Pytester) -> None:
    names = ("a-right", "b-literal")
    command = project.run(
        *(sys.executable, "-m", "pytest_brt", "issue", "clamp.md", "--guard=no", "--jobs=4"),
        *("--report=out.md", "--report=../report.json"),
        *("--rank", *(f"patches/{name}.diff" for name in names)),
    )
    assert command.ret == 7, command.stdout.str() + command.stderr.str()
    assert command.parseoutcomes() == {"judged": 3}
    command.stdout.fnmatch_lines(
        ["*a-right.diff: passes 4 of 4 bug tests*", "Markdown report: out.md"]
    )
    assert "| a-right.diff |" in (project.path / "out.md").read_text("utf-8")
    report = read_report(project.path.parent / "report.json")
    assert next(iter(patches_of(report))) == "a-right.diff"
