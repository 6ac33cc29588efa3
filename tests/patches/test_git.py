"""What a repository says must not start a program, reach a network, or fill a disk."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.patches.git import History, find_repository


def _git(root: Path, *arguments: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    done = subprocess.run(command, cwd=root, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


#: Ways for a configuration to bring in another file, but for the path of that.
INCLUDES = ("include.path", "includeIf.gitdir:/.path", "includeIf.onbranch:**.path")
#: The settings in the configuration itself, and in a file that it brings in.
everywhere = pytest.mark.parametrize("marked", ["", *INCLUDES], indirect=True)


@pytest.fixture
def marked(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """Return a repository each of whose settings would start a program, and what it would make."""
    root, mark = tmp_path / "repository", tmp_path / "ran"
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("1\n", encoding="utf-8")
    (root / ".gitattributes").write_text("*.txt diff=x filter=x merge=x\n", encoding="utf-8")
    _git(root, "add", ".")
    _git(root, "commit", "-q", "-m", "one")
    _git(root, "checkout", "-q", "-b", "other")
    (root / "a.txt").write_text("2\n", encoding="utf-8")
    _git(root, "commit", "-q", "-a", "-m", "two")
    _git(root, "checkout", "-q", "main")
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\ntouch {mark}\ncat "$1" 2>/dev/null || cat\n', encoding="utf-8")
    program.chmod(0o755)
    include = getattr(request, "param", "")
    into = ("--file", ".git/more") if include else ()
    if include:
        _git(root, "config", include, "more")  # beside it, wherever the repository is moved to
    for name in (
        "diff.x.textconv", "diff.x.command", "diff.external", "filter.x.clean", "filter.x.smudge",
        "filter.x.process", "core.fsmonitor", "gpg.program", "core.sshCommand", "merge.x.driver",
    ):  # fmt: skip
        _git(root, "config", *into, name, str(program))
    _git(root, "config", *into, "log.showSignature", "true")
    _git(root, "config", *into, "core.hooksPath", str(tmp_path))
    os.utime(root / "a.txt", (1, 1))  # git looks at its content again
    return root, mark


@everywhere
def test_no_program_of_a_repository_is_run(marked: tuple[Path, Path]) -> None:
    root, mark = marked
    history = History(root)
    old, new = _git(root, "rev-parse", "main"), _git(root, "rev-parse", "other")
    assert history.ends("main..other") == (old, new)
    assert old in history.first_parents()
    assert b"+2" in history.diff_of("other")
    assert [change.content for change in history.changes_to(new)] == [b"2\n"]
    assert not mark.exists()


@everywhere
def test_and_its_own_git_would_run_them(marked: tuple[Path, Path]) -> None:
    root, mark = marked
    _git(root, "diff", "main", "other")
    assert mark.exists()


def test_objects_that_are_missing_are_not_fetched(tmp_path: Path) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    _git(origin, "init", "-q", "-b", "main")
    _git(origin, "config", "uploadpack.allowFilter", "true")
    (origin / "a.txt").write_text("1\n", encoding="utf-8")
    _git(origin, "add", ".")
    _git(origin, "commit", "-q", "-m", "one")
    options = ("--filter=blob:none", "--no-checkout")
    _git(tmp_path, "clone", "-q", *options, origin.as_uri(), str(clone))
    before = sorted(path.name for path in clone.rglob("*.pack"))
    with pytest.raises(UsageProblem):
        History(clone).git("cat-file", "blob", "HEAD:a.txt")
    assert sorted(path.name for path in clone.rglob("*.pack")) == before
    assert _git(clone, "cat-file", "blob", "HEAD:a.txt") == "1"  # git alone would have


def test_linked_worktrees_are_read(marked: tuple[Path, Path], tmp_path: Path) -> None:
    _git(marked[0], "worktree", "add", "-q", str(tmp_path / "linked"), "other")
    linked = History(tmp_path / "linked")
    assert linked.ends("main..") == linked.ends("main..other")
    assert find_repository(Path("/")) is None


def test_git_may_not_fill_the_disk(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "big").write_bytes(bytes(140 << 20))
    _git(tmp_path, "-c", "core.compression=0", "add", "big")
    (tmp_path / "big").unlink()
    with pytest.raises(UsageProblem):
        History(tmp_path).git("checkout-index", "-f", "big")
    assert not (tmp_path / "big").exists() or (tmp_path / "big").stat().st_size <= 128 << 20


@everywhere
def test_no_program_of_a_submodule_is_run(marked: tuple[Path, Path], tmp_path: Path) -> None:
    inner, mark = marked
    root = tmp_path / "outer"
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    inner.rename(root / "part")
    inner = root / "part"
    _git(root, "-c", "core.fsmonitor=false", "add", "part")  # as a link to its commit
    _git(root, "commit", "-q", "-m", "one")
    os.utime(inner / "a.txt", (2, 2))
    mark.unlink(missing_ok=True)
    for setting in ("diff.ignoreSubmodules=none", "diff.submodule=diff", "submodule.recurse=true"):
        _git(root, "config", *setting.split("="))
    history = History(root)
    assert history.changes_to("main") == ()
    assert not mark.exists()
    _git(root, "status")  # what git does by itself
    assert mark.exists()


@pytest.mark.parametrize("include", INCLUDES)
def test_nothing_that_a_configuration_includes_is_opened(
    marked: tuple[Path, Path], tmp_path: Path, include: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    _git(marked[0], "config", include, str(tmp_path / "pipe"))
    start = time.monotonic()
    assert History(marked[0]).first_parents()
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("part", ["HEAD", "objects", "../.git"])
def test_a_repository_whose_files_are_pipes_is_none(marked: tuple[Path, Path], part: str) -> None:
    path = marked[0] / ".git" / part
    path.rename(marked[0] / "away")
    os.mkfifo(marked[0] / ".git" if part == "../.git" else path)
    with pytest.raises(UsageProblem, match="no git repository"):
        History(marked[0])
