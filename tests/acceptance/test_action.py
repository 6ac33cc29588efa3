"""What the GitHub Action and the pre-commit hook run, without their services."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def test_a_second_step_of_a_job_knows_nothing_of_the_first(project: pytest.Pytester) -> None:
    """Neither its report nor its answer, though both were kept in the same folder."""
    temporary = project.mkdir("runner")
    (temporary / "report.json").write_text('{"title": "Another bug", "body": "b"}', "utf-8")
    (temporary / "answer.md").write_text("STALE\n", "utf-8")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(temporary),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary"),
        "REPORT": "no-such-file.md",
        "GITHUB_REPOSITORY": "owner/interval",
        "GITHUB_OUTPUT": str(temporary / "output"),
        "PATCHES": "",
        "OPTIONS": "",
    }
    for step in ("fetch", "run"):
        done = subprocess.run(
            ["bash", str(ROOT / ".ci/action"), step], cwd=project.path, env=environment, check=False
        )
    assert done.returncode == 4
    summary = temporary / "summary"
    assert not summary.exists() or "STALE" not in summary.read_text("utf-8")
    assert not (temporary / "report.json").exists()


def test_only_the_step_that_reads_an_issue_has_the_token() -> None:
    steps = (ROOT / "action.yml").read_text("utf-8").partition("steps:")[2].split("- shell:")[1:]
    assert [("inputs.token" in step, '" fetch' in step) for step in steps] == [
        (True, True),
        (False, False),
        (False, False),
    ]
