"""The skill for coding agents, and the report that goes to standard output alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_brt
from pytest_brt.cli.main import _COMMANDS
from tests.support.reports import checked

SKILL = Path(pytest_brt.__file__).parent / ".agents/skills/pytest-brt/SKILL.md"


@pytest.mark.parametrize("start", [["pytest", "--brt-issue"], ["pytest_brt", "issue"]])
@pytest.mark.parametrize("loud", [[], ["-v"], ["-s"]])
def test_the_report_has_standard_output_to_itself(
    project: pytest.Pytester, start: list[str], loud: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *start, "clamp.md", "--brt-report", "-", *loud],
        cwd=project.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = checked(done.stdout)
    assert [issue["source"] for issue in report["issues"]] == ["clamp.md"]
    assert "Possibly reproduced: test_" in done.stderr


def test_who_reads_no_more_is_no_reason_to_fall(project: pytest.Pytester) -> None:
    command = f"{sys.executable} -m pytest_brt issue clamp.md --report - | true"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=project.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr


def test_the_skill_names_what_there_is() -> None:
    text = SKILL.read_text("utf-8")
    head, _, body = text.partition("---\n")[2].partition("---\n")
    assert re.search(r"^name: pytest-brt$", head, re.MULTILINE)
    assert re.search(r"^description: \S", head, re.MULTILINE)
    assert len(text.splitlines()) <= 120
    assert set(re.findall(r"pytest-brt (\w+)", body)) <= set(_COMMANDS)
    for command in ("issue", "check"):
        shown = subprocess.run(
            [sys.executable, "-m", "pytest_brt", command, "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        lines = [line for line in body.split("\n") if line.startswith(f"pytest-brt {command}")]
        assert lines
        for line in lines:
            for flag in re.findall(r"--[a-z-]+", line):
                assert flag in shown, line
