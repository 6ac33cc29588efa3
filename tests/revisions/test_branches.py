from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.patches.git import History
from pytest_brt.patches.sources import read_proposals
from tests.support.repository import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository: main with a bug, fix/a and fix/b, and old, which main is ahead of."""
    root = tmp_path / "project"
    root.mkdir()
    repository = Repository(root)
    repository.commit("start", lib__pkg_py="one = 1\n", other="x\n")
    repository.git("branch", "old")
    for name in ("fix/a", "fix/b"):
        repository.git("checkout", "-q", "-b", name, "main")
        repository.commit(name, lib__pkg_py=f"one = '{name}'\n", other=f"{name}\n")
    repository.git("checkout", "-q", "main")
    repository.commit("goes on", more="y\n")
    return repository


def texts(root: Path, pattern: str) -> dict[str, str]:
    return {patch.name: patch.text for patch in read_proposals([f"git:{pattern}"], root)}


def test_each_branch_is_a_patch_from_where_it_left(repository: Repository) -> None:
    patches = texts(repository.root, "*")
    assert [*patches] == ["fix/a", "fix/b", "old"]
    assert "+one = 'fix/a'" in patches["fix/a"]
    assert "--- a/lib/pkg.py" in patches["fix/a"]
    assert "more" not in patches["fix/a"], "what main did since is not taken back"
    assert patches["old"] == "", "nothing is changed there"


def test_a_project_in_a_folder_of_a_repository(repository: Repository) -> None:
    ((name, text),) = texts(repository.root / "lib", "fix/a").items()
    assert name == "fix/a"
    assert "--- a/pkg.py" in text
    assert "other" not in text


def test_settings_of_the_user_do_not_spoil_the_patches(repository: Repository) -> None:
    for name, value in {
        "diff.noprefix": "true",
        "color.ui": "always",
        "diff.external": "/bin/false",
    }.items():
        repository.git("config", name, value)
    assert "--- a/lib/pkg.py" in texts(repository.root, "fix/a")["fix/a"]


def test_branches_of_other_repositories(repository: Repository, tmp_path: Path) -> None:
    clone = Repository(tmp_path)
    clone.git("clone", "-q", str(repository.root), "clone")
    assert [*texts(tmp_path / "clone", "origin/fix/*")] == ["origin/fix/a", "origin/fix/b"]


@pytest.mark.parametrize("pattern", ["nope", "main"])
def test_what_is_no_other_branch_is_said(repository: Repository, pattern: str) -> None:
    with pytest.raises(UsageProblem, match=f"no branch is called '{pattern}'"):
        texts(repository.root, pattern)


def test_a_branch_that_is_called_as_an_option(repository: Repository) -> None:
    """Git makes none, and reads any that a repository comes with."""
    sha = repository.git("rev-parse", "fix/a")
    packed = f"{sha} refs/heads/--output=written\n"
    (repository.root / ".git/packed-refs").write_text(packed, "utf-8")
    done = repository.run("pytest", "--rank-fixes=git:--out*", "--brt-tests=other")
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert not (repository.root / "written").exists()
    assert History(repository.root).branches("--out*") == {"--output=written": "a@example.org"}
    assert not (repository.root / "written").exists()
