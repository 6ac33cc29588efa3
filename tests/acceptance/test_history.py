"""The gate, on a small repository with a history."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repository import Repository

pytestmark = pytest.mark.slow

RIGHT = "def double(n):\n    return 2 * n\n"
WRONG = "def double(n):\n    return 2 * n + 1\n"
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


def test_a_fix_with_its_test_passes_the_gate(repository: Repository) -> None:
    repository.commit("fix", pkg_py=RIGHT, tests__test_pkg_py=NEW_TEST)
    before = repository.git("status", "--porcelain")
    done = repository.gate("HEAD~1..HEAD")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 changed tests fail without the change and pass with it" in done.stdout
    assert "tests/test_pkg.py ." in done.stdout
    assert repository.git("status", "--porcelain") == before


def test_a_fix_without_a_test_does_not(repository: Repository) -> None:
    repository.commit("fix", pkg_py=RIGHT)
    done = repository.gate("HEAD~1..HEAD")
    assert done.returncode == 5
    assert "gate: no test is added or changed" in done.stdout


def test_a_test_that_would_have_passed_anyway_does_not(repository: Repository) -> None:
    weak = OLD_TEST + "\n\ndef test_weak():\n    assert double(2) > 3\n"
    repository.commit("fix", pkg_py=RIGHT, tests__test_pkg_py=weak)
    done = repository.gate("HEAD~1..")
    assert done.returncode == 1
    assert "passes without the change" in done.stdout
    assert "0 of 1 changed tests" in done.stdout


def test_a_test_of_something_new_is_said_to_be_untestable(repository: Repository) -> None:
    new = "from pkg import triple\n\n\ndef test_triple():\n    assert triple(1) == 3\n"
    code = RIGHT + "\n\ndef triple(n):\n    return 3 * n\n"
    repository.commit("feature", pkg_py=code, tests__test_new_py=new)
    done = repository.gate("HEAD~1..HEAD")
    assert done.returncode == 1
    assert "cannot be run without the change: BROKEN" in done.stdout


def test_a_test_that_fails_with_the_change_fails_the_gate(repository: Repository) -> None:
    repository.commit("no fix", tests__test_pkg_py=NEW_TEST)
    done = repository.gate("HEAD~1..HEAD")
    assert done.returncode == 1
    assert "fails with the change: FAIL, AssertionError: assert 5 == 4" in done.stdout


@pytest.mark.parametrize("text", ["HEAD", "..HEAD", "nowhere..HEAD", "--help..HEAD"])
def test_a_range_that_is_none_is_a_usage_error(repository: Repository, text: str) -> None:
    done = repository.gate(text)
    assert done.returncode == 4, done.stdout + done.stderr
