"""What the GitHub Action and the pre-commit hook run, without their services."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.history import NEW_TEST, OLD_TEST, RIGHT, WRONG
from tests.support.github import pull_request, put_gh_on_path
from tests.support.interval import CLAMP, CLAMP_ISSUE, FIXES, SOURCE, diff_of
from tests.support.repository import Repository

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def run_action(project: pytest.Pytester, **inputs: str) -> tuple[list[int], str]:
    """Return the codes of the action's steps, and the job's summary."""
    temporary = project.mkdir("runner")
    action = (ROOT / "action.yml").read_text("utf-8")
    steps = re.findall(r'run: bash "\$GITHUB_ACTION_PATH/(\S+)" (\w+)', action)
    assert [step for _, step in steps] == ["fetch", "run"]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(temporary),
        "GITHUB_REPOSITORY": "owner/interval",
        "GITHUB_STEP_SUMMARY": str(temporary / "summary"),
        "GITHUB_OUTPUT": str(temporary / "output"),
        "OPTIONS": "--brt-guard=no",
        **inputs,
    }
    codes = [
        subprocess.run(
            ["bash", str(ROOT / script), step], cwd=project.path, env=environment, check=False
        ).returncode
        for script, step in steps
    ]
    return codes, (temporary / "summary").read_text("utf-8")


def test_the_action_ranks_pull_requests_by_the_tests_that_they_bring(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = "from interval import clamp\n\n\ndef test_top():\n    assert clamp(5, 0, 10) == 5\n"
    lines = test.splitlines()
    brought = "".join(f"+{line}\n" for line in lines)
    head = f"--- /dev/null\n+++ b/tests/test_top.py\n@@ -0,0 +1,{len(lines)} @@\n"
    right = diff_of(SOURCE.replace(CLAMP, FIXES["a-right"])) + head + brought
    wrong = diff_of(SOURCE.replace(CLAMP, FIXES["c-wrong"]))
    known: dict[str, dict[str, object]] = {
        "owner/interval#9": {"title": "clamp() ignores its upper bound", "body": CLAMP_ISSUE},
        "owner/interval#12": pull_request(right, "ann"),
        "fork/interval#3": pull_request(wrong, "bob"),
    }
    put_gh_on_path(project.path.parent / f"{project.path.name}-bin", monkeypatch, known)
    codes, summary = run_action(project, REPORT="#9", PATCHES="#12 fork/interval#3", CLEAR="no")
    assert codes == [0, 0]
    rows = [line for line in summary.splitlines() if line.startswith("| 1 ")]
    assert len(rows) == 1
    assert r"\#12.diff" in rows[0]
    (output,) = (project.path / "runner/output").read_text("utf-8").splitlines()
    found = json.loads(Path(output.removeprefix("report=")).read_text("utf-8"))
    assert any("test_top" in test["name"] for test in found["tests"])


@pytest.mark.parametrize(
    ("report", "patches", "clear", "code"),
    [
        ("clamp.md", "patches/a-right.diff", "no", 0),
        ("clamp.md", "patches", "no", 0),  # two of them are level
        ("clamp.md", "patches", "yes", 7),
        ("vague.md", "", "no", 1),
    ],
)
def test_the_action_shows_the_answer_and_ends_with_its_code(
    project: pytest.Pytester, report: str, patches: str, clear: str, code: int
) -> None:
    project.makefile(".md", vague="# It is slow\n\nSometimes.\n")
    codes, summary = run_action(project, REPORT=report, PATCHES=patches, CLEAR=clear)
    assert codes == [0, code]
    assert ("**Not reproduced: " if code == 1 else "**Possibly reproduced: ") in summary
    assert ("| a-right.diff |" in summary) == bool(patches)


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
            ["bash", str(ROOT / ".ci/action"), step],
            cwd=project.path,
            env=environment,
            check=False,
        )
    assert done.returncode == 4
    summary = temporary / "summary"
    assert not summary.exists() or "STALE" not in summary.read_text("utf-8")
    assert not (temporary / "report.json").exists()


def test_the_hook_asks_for_a_test_that_fails_without_the_change(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.commit("start", pkg_py=WRONG, tests__test_pkg_py=OLD_TEST)
    repository.commit("fix", pkg_py=RIGHT, tests__test_pkg_py=NEW_TEST)
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    before = repository.git("status", "--porcelain")
    (entry,) = re.findall(r"entry: (.*)", hooks)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_FROM_REF": repository.git("rev-parse", "HEAD~1").strip(),
        "PRE_COMMIT_TO_REF": repository.git("rev-parse", "HEAD").strip(),
    }
    ran = subprocess.run(
        shlex.split(entry), cwd=tmp_path, env=environment, check=False, capture_output=True
    )
    assert ran.returncode == 0, ran.stdout
    assert b"gate: the changed test fails without the change and passes with it" in ran.stdout
    assert repository.git("status", "--porcelain") == before


def test_only_the_step_that_reads_an_issue_has_the_token() -> None:
    steps = (ROOT / "action.yml").read_text("utf-8").partition("steps:")[2].split("- shell:")[1:]
    assert [("inputs.token" in step, '" fetch' in step) for step in steps] == [
        (True, True),
        (False, False),
        (False, False),
    ]
