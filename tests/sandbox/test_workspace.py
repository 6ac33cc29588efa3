"""Private copies: what is in them, what can be written, and that they go."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.errors import UnsafeChange
from pytest_brt.sandbox.workspace import IN_MEMORY, Scratch
from pytest_brt.types import FileChange


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    environments = (".venv/pyvenv.cfg", ".venv/lib/a.py", ".tox/py/pyvenv.cfg", ".tox/log.json")
    for name in ("pkg/core.py", ".git/config", *environments):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n", encoding="utf-8")
    (root / "link").symlink_to(tmp_path)
    (root / "away").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture
def scratch(root: Path) -> Iterator[Scratch]:
    scratch = Scratch(root)
    yield scratch
    scratch.close()
    assert not scratch.path.exists()


def names(copy: Path) -> set[str]:
    return {path.relative_to(copy).as_posix() for path in copy.rglob("*")}


def test_caches_environments_and_pipes_are_not_copied(root: Path, scratch: Scratch) -> None:
    with scratch.copied() as copy:
        assert names(copy) == {"pkg", "pkg/core.py", "link", "away"}
        assert (copy / "link").is_symlink()
    assert not copy.exists()


def test_copies_are_where_tmpdir_says_also_inside_of_the_project(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(root / "pkg"))
    monkeypatch.setattr(tempfile, "tempdir", None)  # it is asked for once
    scratch = Scratch(root)
    with scratch.copied() as copy:
        assert copy.is_relative_to(root / "pkg")
        assert names(copy) == {"pkg", "pkg/core.py", "link", "away"}
    scratch.close()


def test_copies_are_in_memory_given_the_room(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not IN_MEMORY.exists() or shutil.disk_usage(IN_MEMORY).free < 4 << 30:
        pytest.skip("there is little room in memory")
    monkeypatch.delenv("TMPDIR", raising=False)
    with (root / "large").open("wb") as large:
        large.truncate(1 << 20)
    small = Scratch(root)
    with (root / "large").open("wb") as large:
        large.truncate(1 << 40)
    great = Scratch(root)
    assert [one.path.parent == IN_MEMORY for one in (small, great)] == [True, False]
    small.close()
    great.close()


def test_a_folder_that_can_be_read_can_be_written_in_the_copy(root: Path, scratch: Scratch) -> None:
    (root / "pkg").chmod(0o555)
    with scratch.copied() as copy:
        assert (copy / "pkg").stat().st_mode & 0o777 == 0o755
    assert (root / "pkg").stat().st_mode & 0o777 == 0o555


def test_a_change_drops_bytecode(root: Path, scratch: Scratch) -> None:
    cached = root / "pkg/__pycache__/core.cpython-311.pyc"
    cached.parent.mkdir()
    cached.touch()
    changes = [FileChange(path="pkg/core.py", content=b"x = 2\n", executable=True)]
    with scratch.copied(changes) as copy:
        changed = copy / "pkg/core.py"
        assert changed.read_bytes() == b"x = 2\n"
        assert os.access(changed, os.X_OK)
        assert not (copy / "pkg/__pycache__" / cached.name).exists()
    with scratch.copied([FileChange(path="pkg/core.py", content=None)]) as copy:
        assert not (copy / "pkg/core.py").exists()
    assert (root / "pkg/core.py").read_bytes() == b"x = 1\n"


def test_a_link_is_replaced_and_not_followed(root: Path, scratch: Scratch) -> None:
    before = Path("/etc/passwd").read_bytes()
    with scratch.copied([FileChange(path="away", content=b"x")]) as copy:
        assert (copy / "away").read_bytes() == b"x"
    assert Path("/etc/passwd").read_bytes() == before


@pytest.mark.parametrize("path", ["link/x.py", "../x.py", "/etc/x", "."])
def test_a_change_that_leads_out_is_refused(root: Path, scratch: Scratch, path: str) -> None:
    change = FileChange(path=path, content=b"")
    with pytest.raises(UnsafeChange), scratch.copied([change]):
        pass


def test_a_copy_that_was_locked_is_removed_all_the_same(root: Path, scratch: Scratch) -> None:
    with scratch.copied() as copy:
        (copy / "pkg").chmod(0)
    assert not copy.exists()
