"""What somebody who tries it for the first time meets beside the results."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CLAMP, FIXES, SOURCE
from tests.llama import needs_llama

pytestmark = pytest.mark.slow


def git(root: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *settings, *arguments], cwd=root, check=True, capture_output=True)


def test_branches_are_ranked_like_files(project: pytest.Pytester) -> None:
    root = project.path
    shutil.rmtree(root / "patches")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "interval", "tests", "clamp.md")
    git(root, "commit", "-qm", "the bug")
    for name in ("a-right", "c-wrong"):
        git(root, "checkout", "-q", "-b", f"fix/{name}", "main")
        (root / "interval/__init__.py").write_text(SOURCE.replace(CLAMP, FIXES[name]), "utf-8")
        git(root, "commit", "-qam", name)
    git(root, "checkout", "-q", "main")
    result = project.runpytest_subprocess("-v", "--brt-issue=clamp.md", "--rank-fixes=git:fix/*")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(
        [
            "branches/fix/a-right.diff::epr PASSED*",
            " *1 *fix/a-right *1.00*",
            " *2 *fix/c-wrong *",
            "again: * --brt-issue=clamp.md '--rank-fixes=git:fix/[*]'",
        ]
    )
    result = project.runpytest_subprocess("--brt-issue=clamp.md", "--rank-fixes=git:nope")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: no branch is called 'nope'*"])


def test_what_to_type_next_is_said(project: pytest.Pytester) -> None:
    result = project.run(sys.executable, "-m", "pytest_brt", "issue", "clamp.md")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "again: pytest-brt issue clamp.md",
            "rank candidate fixes by these tests: pytest --rank-fixes DIR",
        ]
    )
    quiet = project.runpytest_subprocess("-q", "--brt-issue=clamp.md").stdout.str()
    assert "again:" not in quiet


@needs_llama
def test_the_only_model_is_picked_up_by_itself(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_brt.model.tiny import write_llama

    models = project.mkdir("models")
    write_llama(models / "small.gguf")
    monkeypatch.setenv("PYTEST_BRT_MODELS", str(models))
    header = ["brt: auto; *; model small.gguf; *"]
    result = project.runpytest_subprocess("--brt-issue=clamp.md", "--brt-budget=20s")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(header)
    result = project.runpytest_subprocess("--brt-issue=clamp.md", "--brt-model=none")
    assert result.ret == 0
    result.stdout.no_fnmatch_line(header[0])
    result.stdout.fnmatch_lines(["brt: replay; *"])


@needs_llama
def test_of_several_models_none_is_taken_and_that_is_said(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = project.mkdir("models")
    for name in ("one", "two"):
        (models / f"{name}.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("PYTEST_BRT_MODELS", str(models))
    result = project.runpytest_subprocess("--brt-issue=clamp.md")
    result.stdout.fnmatch_lines(["brt: no model: one, two are there (--brt-model gguf:NAME *"])
    result = project.runpytest_subprocess("--brt-issue=clamp.md", "--brt-model=none")
    result.stdout.no_fnmatch_line("brt: no model:*")
