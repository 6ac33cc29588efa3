"""Revisions as changes of the working tree, on real repositories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.patches.git import History
from pytest_brt.types import FileChange
from tests.support.repository import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    (tmp_path / "repository").mkdir()
    return Repository(tmp_path / "repository")


def applied(root: Path, changes: Sequence[FileChange]) -> dict[str, bytes]:
    """Return the files below `root`, by path, as they are after `changes`."""
    files = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }
    for change in changes:
        if change.content is None:
            del files[change.path]
        else:
            files[change.path] = change.content
    return files


def test_changes_make_the_working_tree_that_of_the_revision(repository: Repository) -> None:
    repository.commit("old", a_py="1\n", folder__b_py="2\n", gone_py="3\n")
    repository.commit("new", a_py="11\n", gone_py=None, added_py="4\n")
    (repository.root / "a.py").write_text("111\n", encoding="utf-8")
    (repository.root / "folder" / "b.py").unlink()
    (repository.root / "unknown.py").write_text("5\n", encoding="utf-8")
    history = History(repository.root)
    tree = {"a.py": b"1\n", "folder/b.py": b"2\n", "gone.py": b"3\n", "unknown.py": b"5\n"}
    old = history.changes_to("HEAD~1")
    assert applied(repository.root, old) == tree
    new = history.changes_to("HEAD")
    assert {change.path for change in new} == {"a.py", "folder/b.py"}
    assert history.changes_to("HEAD~1") == old


def test_reverting_undoes_what_was_committed_and_nothing_else(repository: Repository) -> None:
    repository.commit("base", a_py="1\n", gone_py="3\n")
    repository.commit("head", a_py="2\n", gone_py=None, added_py="4\n")
    (repository.root / "a.py").write_text("uncommitted\n", encoding="utf-8")
    history = History(repository.root)
    undone = history.changes_to("HEAD~1", "HEAD")
    assert {change.path: change.content for change in undone} == {
        "a.py": b"1\n",
        "gone.py": b"3\n",
        "added.py": None,
    }


def test_modes_names_and_bytes_are_kept_and_links_left_alone(repository: Repository) -> None:
    root = repository.root
    raw = b"\xff\x00\r\n"
    (root / "tool \u00fc.sh").write_bytes(raw)
    (root / "tool \u00fc.sh").chmod(0o755)
    (root / "plain").write_bytes(raw)
    (root / "link").symlink_to("plain")
    repository.commit("old")
    for name in ("tool \u00fc.sh", "plain", "link"):
        (root / name).unlink()
    repository.commit("new")
    history = History(root)
    changes = history.changes_to("HEAD~1")
    assert {change.path: (change.content, change.executable) for change in changes} == {
        "tool \u00fc.sh": (raw, True),
        "plain": (raw, False),
    }


def test_a_project_may_be_a_folder_of_a_larger_repository(repository: Repository) -> None:
    repository.commit("old", project__a_py="1\n", other__b_py="1\n")
    repository.commit("new", project__a_py="2\n", other__b_py="2\n")
    history = History(repository.root / "project")
    old = "HEAD~1"
    assert history.changes_to(old) == (FileChange(path="a.py", content=b"1\n"),)


def test_a_renamed_file_is_one_that_went_and_one_that_came(repository: Repository) -> None:
    repository.git("config", "diff.renames", "copies")
    repository.commit("old", old_py="1\n2\n3\n4\n")
    repository.commit("new", old_py=None, new_py="1\n2\n3\n4\n")
    history = History(repository.root)
    changes = history.changes_to("HEAD~1")
    assert {change.path: change.content for change in changes} == {
        "new.py": None,
        "old.py": b"1\n2\n3\n4\n",
    }


def test_a_revision_says_what_it_is(repository: Repository) -> None:
    sha = repository.commit("first line\n\nmore", a_py="1\n")
    repository.git("tag", "-a", "v1", "-m", "a tag")
    history = History(repository.root)
    date, _, who = history.first_parents()[sha].partition(" ")
    assert len(date) == len("2020-02-20")
    assert who == "A: first line"
    for name in ("HEAD", "main", "v1", sha[:12]):
        assert history.ends(f"{name}..main")[0] == sha


@pytest.mark.parametrize(
    "text",
    ["", "main", "..", "..main", "...", "-h..", "--all..", "nowhere..", "HEAD:a.py..", "main..x"],
)
def test_what_is_no_range_is_refused(repository: Repository, text: str) -> None:
    repository.commit("one", a_py="1\n")
    with pytest.raises(UsageProblem, match=r"expected BASE\.\.HEAD, got "):
        History(repository.root).ends(text)


def test_what_git_says_is_passed_on_where_a_revision_is_there(repository: Repository) -> None:
    sha = repository.commit("one", a_py="1\n")
    thing = repository.root / ".git/objects" / sha[:2] / sha[2:]
    thing.chmod(0o644)
    thing.write_bytes(b"junk")
    with pytest.raises(UsageProblem, match=f"{sha}.* is corrupt"):
        History(repository.root).first_parents()


def test_first_parents_lead_back_from_what_is_checked_out(repository: Repository) -> None:
    shas = [repository.commit(f"number {number}") for number in range(2)]
    repository.git("checkout", "-q", "-b", "side", shas[0])
    repository.commit("beside", b_py="1\n")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-edit", "side")
    history = History(repository.root)
    head, *older = history.first_parents()
    assert older[:2] == shas[::-1]
    assert history.first_parents()[older[0]].endswith("A: number 1")
    assert [change.path for change in history.changes_to(head, older[0])] == ["b.py"]


def test_without_repository_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageProblem, match=r"no git repository: .*give the project"):
        History(tmp_path)


def test_git_that_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git/objects").mkdir(parents=True)
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    history = History(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageProblem, match="install git"):
        history.first_parents()
