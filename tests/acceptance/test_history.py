"""The gate on a small repository with a history."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.history import OLD_TEST, RIGHT, WRONG
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
    name = "tests/test_pkg.py::test"
    assert f"{name}_weak passes without the change: PASS" in done.stdout
    assert f"{name}_three fails with the change: FAIL, AssertionError: assert 6" in done.stdout
    assert "test_triple cannot be run without the change: BROKEN" in done.stdout


@pytest.mark.parametrize("text", ["HEAD", "nowhere..HEAD"])
def test_a_range_that_is_none_is_a_usage_error(repository: Repository, text: str) -> None:
    done = repository.gate(text)
    assert done.returncode == 4, done.stdout + done.stderr
