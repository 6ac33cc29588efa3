"""The gate, and git's bisection, on a small repository with a history."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.history import NEW_TEST, OLD_TEST, RIGHT, WRONG
from tests.support.repository import Repository

pytestmark = pytest.mark.slow

OTHER = "def double(n):\n    raise ValueError(n)\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    root = tmp_path / "project"
    root.mkdir()
    repository = Repository(root)
    (root / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    repository.commit("start", pkg_py=WRONG, tests__test_pkg_py=OLD_TEST)
    return repository


def test_a_fix_without_a_test_does_not_pass_the_gate(repository: Repository) -> None:
    repository.commit("fix", pkg_py=RIGHT)
    done = repository.gate("HEAD~1..HEAD")
    assert done.returncode == 5
    assert "gate: no test is added or changed" in done.stdout


def test_what_is_wrong_with_each_changed_test_is_said(repository: Repository) -> None:
    weak = OLD_TEST + "\n\ndef test_weak():\n    assert double(2) > 3\n"
    weak += "\n\ndef test_three():\n    assert double(3) == 7\n"
    new = "from pkg import triple\n\n\ndef test_triple():\n    assert triple(1) == 3\n"
    code = RIGHT + "\n\ndef triple(n):\n    return 3 * n\n"
    repository.commit("fix", pkg_py=code, tests__test_pkg_py=weak, tests__test_new_py=new)
    done = repository.gate("HEAD~1..")
    assert done.returncode == 1
    assert "gate: of 3 changed tests, 0 fail without the change" in done.stdout
    assert "\ntests/test_pkg.py " in done.stdout
    assert "passes without the change" in done.stdout
    assert "fails with the change: FAIL, AssertionError: assert 6 == 7" in done.stdout
    assert "cannot be run without the change: BROKEN" in done.stdout


@pytest.mark.parametrize("text", ["HEAD", "nowhere..HEAD"])
def test_a_range_that_is_none_is_a_usage_error(repository: Repository, text: str) -> None:
    done = repository.gate(text)
    assert done.returncode == 4, done.stdout + done.stderr


# -- bisection with git's own command ---------------------------------------------------------


def test_git_finds_the_commit_as_the_docs_say(repository: Repository, tmp_path: Path) -> None:
    """A commit on which the test cannot be collected is neither good nor bad."""
    good = repository.commit("right", pkg_py=RIGHT)
    repository.commit("broken import", pkg_py="import nowhere\n" + RIGHT)
    repository.commit("import mended", pkg_py=RIGHT)
    culprit = repository.commit("speed it up", pkg_py=WRONG)
    repository.commit("docs", README_md="x")
    test = tmp_path / "test_bug.py"
    test.write_text(NEW_TEST, "utf-8")
    page = Path(__file__).parents[2] / "docs" / "ci.md"
    (recipe,) = re.findall(r"^git bisect start .*\n.*bisect run .*$", page.read_text("utf-8"), re.M)
    recipe = recipe.replace("GOOD", good).replace("/elsewhere/test_bug.py", str(test))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", recipe],
        cwd=repository.root,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(repository.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{culprit} is the first bad commit" in done.stdout, done.stdout + done.stderr
