from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.errors import StoreProblem
from pytest_brt.execute.scratch import Scratch, clear_stale
from pytest_brt.execute.tree import TreeCopy


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scratch]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    yield scratch
    scratch.close()


def test_a_full_disk_is_told_before_anything_begins(scratch: Scratch) -> None:
    with pytest.raises(StoreProblem, match=r"no space left in .*TMPDIR"), scratch.room(1 << 62):
        pytest.fail("begun")


def test_and_in_the_middle(scratch: Scratch) -> None:
    with pytest.raises(StoreProblem, match="no space left in"), scratch.room():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(FileNotFoundError), scratch.room():
        raise FileNotFoundError("another error is another error")


def test_a_copy_that_would_not_be_whole_is_none(tmp_path: Path) -> None:
    """/dev/full stands for a file on a full disk."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.py").write_text("a = 1\n", encoding="utf-8")
    copy = TreeCopy(source, tmp_path / "copy")
    (tmp_path / "copy/a.py").unlink()
    (tmp_path / "copy/a.py").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        copy._copy("a.py")
    assert copy.unread == []


def test_what_a_living_engine_holds_is_left_alone(scratch: Scratch, tmp_path: Path) -> None:
    left = tmp_path / "brt-left"
    left.mkdir()
    (left / "lock").touch()
    clear_stale()
    assert not left.exists()
    assert scratch.path.exists()
