from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.patches.history import History
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


def names(root: Path, pattern: str, folder: Path) -> list[str]:
    return [patch.name for patch in read_proposals([f"git:{pattern}"], root, folder).patches]


def test_each_branch_is_a_patch_from_where_it_left(repository: Repository, tmp_path: Path) -> None:
    assert names(repository.root, "*", tmp_path / "p") == ["fix/a", "fix/b"]
    text = (tmp_path / "p/patches-0/fix/a.diff").read_text("utf-8")
    assert "+one = 'fix/a'" in text
    assert "--- a/lib/pkg.py" in text
    assert "more" not in text, "what main did since is not taken back"


def test_one_branch_by_its_name(repository: Repository, tmp_path: Path) -> None:
    assert names(repository.root, "fix/b", tmp_path / "p") == ["fix/b"]


def test_a_project_in_a_folder_of_a_repository(repository: Repository, tmp_path: Path) -> None:
    assert names(repository.root / "lib", "fix/a", tmp_path / "p") == ["fix/a"]
    text = (tmp_path / "p/patches-0/fix/a.diff").read_text("utf-8")
    assert "--- a/pkg.py" in text
    assert "other" not in text


def test_settings_of_the_user_do_not_spoil_the_patches(
    repository: Repository, tmp_path: Path
) -> None:
    for name, value in {
        "diff.noprefix": "true",
        "color.ui": "always",
        "diff.external": "/bin/false",
    }.items():
        repository.git("config", name, value)
    names(repository.root, "fix/a", tmp_path / "p")
    assert "--- a/lib/pkg.py" in (tmp_path / "p/patches-0/fix/a.diff").read_text("utf-8")


def test_branches_of_other_repositories(repository: Repository, tmp_path: Path) -> None:
    clone = Repository(tmp_path)
    clone.git("clone", "-q", str(repository.root), "clone")
    assert names(tmp_path / "clone", "origin/fix/*", tmp_path / "p") == [
        "origin/fix/a",
        "origin/fix/b",
    ]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("nope", "no branch is called 'nope'"),
        ("main", "no branch is called 'main'"),
        ("old", "old: nothing is changed there"),
    ],
)
def test_what_is_no_patch_is_said(
    repository: Repository, tmp_path: Path, pattern: str, words: str
) -> None:
    with pytest.raises(UsageProblem, match=words):
        names(repository.root, pattern, tmp_path / "p")


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
