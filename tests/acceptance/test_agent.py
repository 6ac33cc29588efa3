"""The agent on a real bug: with a script full of mistakes, and with noise instead of a model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.examples import EXAMPLES, unpack
from tests.support.reports import patches_of, read_report
from tests.support.trees import tree_hash

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the project of an example, its report and patches beside it."""
    folder = tmp_path_factory.mktemp("agent")
    example = EXAMPLES / "sqlparse-strip-comments"
    root = unpack(example, folder)
    shutil.copy(example / "issue.md", folder)
    (folder / "patches").mkdir()
    for name in ("fix-02.diff", "fix-04.diff", "fix-05.diff"):
        shutil.copy(example / "patches" / name, folder / "patches")
    return root


@pytest.fixture(scope="module")
def report(tree: Path) -> dict[str, Any]:
    """Run the agent once by its script, and rank the patches by what it wrote."""
    shutil.copy(HERE / "agent-sqlparse.txt", tree.parent)
    command = [sys.executable, "-m", "pytest", f"--rootdir={tree}", "-v", "-p", "no:cacheprovider"]
    command += ["--brt-issue=../issue.md", "--rank-fixes=../patches", "--brt-strategy=agent"]
    command += ["--brt-model=scripted:../agent-sqlparse.txt", "--brt-samples=1"]
    command += ["--brt-guard=no", "--brt-report=../out.json"]
    before = tree_hash(tree)
    done = subprocess.run(
        command, cwd=tree, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode in (0, 7), done.stdout + done.stderr
    assert tree_hash(tree) == before
    found: dict[str, Any] = read_report(tree.parent / "out.json")
    return {**found, "text": done.stdout}


@pytest.mark.usefixtures("report")
def test_every_mistake_is_answered_and_the_trajectory_kept(tree: Path) -> None:
    (line,) = (tree.parent / "out.trajectories.jsonl").read_text("utf-8").splitlines()
    dialogue = json.loads(line)
    steps = dialogue["steps"]
    assert dialogue["ending"] == "finish"
    assert [step["action"] for step in steps] == [
        "code_search", "cat", "edit", "edit", "test", "test", "edit", "test", "finish",
    ]  # fmt: skip
    said = [step["observation"] for step in steps]
    assert "action 'search' read as 'code_search'" in said[0]
    assert "path 'sqlparse/filters/other.py' read as 'sqlparse/filters/others.py'" in said[1]
    assert "only test files can be edited" in said[2]
    assert "argument 'file' read as 'path'" in said[3]
    assert "sqlparse" in said[3]
    assert "strip_all_comments" in said[3]
    assert "exactly this in step 5" in said[5]
    assert "more times]" in said[7]
    assert len(said[7]) < 4000
    assert all(step["reply"] for step in steps)


def test_what_it_wrote_tells_right_patches_from_wrong_ones(report: dict[str, Any]) -> None:
    candidates = [test for test in report["tests"] if test["candidate"]]
    assert [test["name"] for test in candidates] == ["test_two_comments_in_a_row"]
    epr = {name: patch["epr"] for name, patch in patches_of(report).items()}
    assert (epr["fix-02.diff"], epr["fix-04.diff"], epr["fix-05.diff"]) == (1.0, 1.0, 0.0)


def test_the_user_sees_how_it_went(report: dict[str, Any]) -> None:
    assert "9 steps: the model ended it" in report["text"]
    assert "test_two_comments_in_a_row fails" in report["text"]
    assert "in place of" in report["text"]
    assert "agent-00: step 8 of 25: test tests/test_format.py: FAIL" in report["text"]
    (attempt,) = report["issues"][0]["attempts"]
    (dialogue,) = attempt["dialogues"]
    assert (dialogue["ending"], dialogue["steps"]) == ("finish", 9)
    assert attempt["cost"]["calls"] == 11
