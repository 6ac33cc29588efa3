"""The gate and the bisection, on a small repository with a history."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.repository import Repository

pytestmark = pytest.mark.slow

RIGHT = "def double(n):\n    return 2 * n\n"
WRONG = "def double(n):\n    return 2 * n + 1\n"
OTHER = "def double(n):\n    raise ValueError(n)\n"
OLD_TEST = "from pkg import double\n\n\ndef test_zero():\n    assert double(0) >= 0\n"
NEW_TEST = OLD_TEST + "\n\ndef test_two():\n    assert double(2) == 4\n"


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
    assert "0 of 3 changed tests" in done.stdout
    assert "\ntests/test_pkg.py " in done.stdout
    assert "passes without the change" in done.stdout
    assert "fails with the change: FAIL, AssertionError: assert 6 == 7" in done.stdout
    assert "cannot be run without the change: BROKEN" in done.stdout


@pytest.mark.parametrize("text", ["HEAD", "nowhere..HEAD"])
def test_a_range_that_is_none_is_a_usage_error(repository: Repository, text: str) -> None:
    done = repository.gate(text)
    assert done.returncode == 4, done.stdout + done.stderr


# -- bisect -------------------------------------------------------------------------------


def history(repository: Repository) -> tuple[str, str]:
    """Make a history in which the sixth commit breaks `double`, seen from a later test."""
    good = repository.commit("right", pkg_py=RIGHT)
    repository.commit("docs", README_md="x")
    repository.commit("broken import", pkg_py="import nowhere\n" + RIGHT)
    repository.commit("import mended", pkg_py=RIGHT)
    culprit = repository.commit("speed it up", pkg_py=WRONG)
    repository.commit("more docs", README_md="y")
    repository.commit("tests", tests__test_pkg_py=NEW_TEST)
    return good, culprit


def bisect(repository: Repository, good: str, *more: str) -> subprocess.CompletedProcess[str]:
    return repository.run(
        "pytest_brt", "bisect", "tests/test_pkg.py::test_two", good, "HEAD", *more
    )


def test_the_commit_that_broke_it_is_found(repository: Repository) -> None:
    good, culprit = history(repository)
    done = bisect(repository, good)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"first bad commit: {culprit} ")
    assert last.endswith("A: speed it up")
    assert repository.git("status", "--porcelain") == ""


def test_a_revision_on_which_it_cannot_run_is_neither(repository: Repository) -> None:
    good = repository.commit("right", pkg_py=RIGHT)
    repository.commit("broken", pkg_py="import nowhere\n" + RIGHT)
    repository.commit("other failure", pkg_py=OTHER)
    repository.commit("wrong", pkg_py=WRONG)
    repository.commit("tests", tests__test_pkg_py=NEW_TEST)
    done = bisect(repository, good)
    assert done.returncode == 1
    assert "untestable" in done.stdout
    assert "fails of something else: ValueError" in done.stdout
    assert "one of these made it fail" in done.stdout
    assert [line[2:12] for line in done.stdout.splitlines()[-3:]] == [
        repository.git("rev-parse", f"HEAD~{back}")[:10] for back in (3, 2, 1)
    ]


def test_only_first_parents_are_tried(repository: Repository) -> None:
    good = repository.commit("right", pkg_py=RIGHT)
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("on the side", pkg_py=WRONG)
    repository.git("checkout", "-q", "main")
    repository.commit("meanwhile", README_md="x")
    repository.git("merge", "-q", "--no-ff", "-m", "merge side", "side")
    merge = repository.git("rev-parse", "HEAD")
    repository.commit("tests", tests__test_pkg_py=NEW_TEST)
    done = bisect(repository, good)
    assert done.returncode == 0, done.stdout
    assert f"first bad commit: {merge}" in done.stdout
    assert "on the side" not in done.stdout


def test_what_cannot_be_bisected_is_said(repository: Repository) -> None:
    good = repository.commit("right", pkg_py=RIGHT, tests__test_pkg_py=NEW_TEST)
    repository.commit("docs", README_md="x")
    passing = bisect(repository, good)
    assert passing.returncode == 1
    assert "not searched: the test does not fail on " in passing.stdout
    for arguments in (("nowhere",), (good, "--python", "/nowhere")):
        wrong = bisect(repository, *arguments)
        assert wrong.returncode == 4, wrong.stdout + wrong.stderr
        assert wrong.stderr.startswith("pytest-brt: ")
