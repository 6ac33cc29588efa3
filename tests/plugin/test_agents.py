"""What a coding agent is shown, and the report that goes to standard output alone."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_brt
from pytest_brt.cli.main import _COMMANDS
from pytest_brt.plugin.agents import VARIABLES, is_agent
from tests.support.reports import checked

SKILL = Path(pytest_brt.__file__).parent / ".agents/skills/pytest-brt/SKILL.md"


@pytest.mark.parametrize("name", VARIABLES)
def test_each_variable_tells_of_an_agent(name: str) -> None:
    assert is_agent({name: "1"})
    assert not is_agent({name: ""})
    assert not is_agent({"PATH": "/bin"})


def test_an_agent_gets_an_answer_and_the_next_command(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT", "1")
    result = project.runpytest_subprocess("--brt-issue", "clamp.md")
    lines = result.outlines
    assert result.ret == 0
    assert len(lines) <= 12
    assert not [line for line in lines if line.startswith(("=", "brt:", "platform"))]
    assert "clamp.md: Possibly reproduced: test_" in result.stdout.str()
    assert [line for line in lines if line.startswith("next: ") and "--brt-write new" in line]


def test_an_agent_is_told_which_patch_is_first(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    arguments = ("--brt-issue", "clamp.md", "--rank-fixes", "patches")
    result = project.runpytest_subprocess(*arguments)
    assert len(result.outlines) <= 12
    assert re.search(r"^rank patch bug tests", result.stdout.str(), re.MULTILINE)
    assert "next: read the patches: -v shows what every test did on each" in result.outlines
    loud = project.runpytest_subprocess(*arguments, "-v")
    assert len(loud.outlines) > 12  # who asks for more gets it


def test_what_an_agent_is_told_to_type_applies_the_best_patch(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT", "1")
    (project.path / "patches/b c").mkdir()
    (project.path / "patches/a-right.diff").rename(project.path / "patches/b c/right.diff")
    result = project.runpytest_subprocess(
        "--brt-issue", "clamp.md", "--rank-fixes", "patches/b c/right.diff"
    )
    subprocess.run(shlex.split(_next(result)), cwd=project.path, check=True)
    again = project.runpytest_subprocess("--brt-issue", "clamp.md")
    again.stdout.fnmatch_lines("clamp.md: Not reproduced*")


def _next(result: pytest.RunResult) -> str:
    """Return the command that stands between quotes in the last line for an agent."""
    told = re.search(r"^next: .*?'(.*)' (?:says|applies)", result.stdout.str(), re.MULTILINE)
    assert told
    return told[1]


def test_without_a_test_an_agent_is_told_to_write_one(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_AGENT", "somebody")
    (project.path / "vague.md").write_text("It is odd\n\nNothing to run.\n", "utf-8")
    result = project.runpytest_subprocess("--brt-issue", "vague.md")
    assert result.ret == 1
    assert "next: write a test yourself, then 'pytest-brt check TEST --issue vague.md'" in (
        result.stdout.str()
    )


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
