"""Private copies: what is in them, what can be written, and that they go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.errors import UnsafeChange
from pytest_brt.sandbox.workspace import Scratch
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
def scratch() -> Iterator[Scratch]:
    scratch = Scratch()
    yield scratch
    scratch.close()
    assert not scratch.path.exists()


def names(copy: Path) -> set[str]:
    return {path.relative_to(copy).as_posix() for path in copy.rglob("*")}


def test_caches_environments_and_pipes_are_not_copied(root: Path, scratch: Scratch) -> None:
    with scratch.copy_of(root) as copy:
        assert names(copy) == {"pkg", "pkg/core.py", "link", "away"}
        assert (copy / "link").is_symlink()
    assert not copy.exists()


def test_a_folder_that_can_only_be_read_can_be_written_in_the_copy(
    root: Path, scratch: Scratch
) -> None:
    (root / "pkg").chmod(0o555)
    with scratch.copy_of(root) as copy:
        assert (copy / "pkg").stat().st_mode & 0o777 == 0o755
    assert (root / "pkg").stat().st_mode & 0o777 == 0o555


def test_a_change_drops_bytecode(root: Path, scratch: Scratch) -> None:
    cached = root / "pkg/__pycache__/core.cpython-311.pyc"
    cached.parent.mkdir()
    cached.touch()
    changes = [FileChange(path="pkg/core.py", content=b"x = 2\n", executable=True)]
    with scratch.copy_of(root, changes) as copy:
        changed = copy / "pkg/core.py"
        assert changed.read_bytes() == b"x = 2\n"
        assert os.access(changed, os.X_OK)
        assert not (copy / "pkg/__pycache__" / cached.name).exists()
    with scratch.copy_of(root, [FileChange(path="pkg/core.py", content=None)]) as copy:
        assert not (copy / "pkg/core.py").exists()
    assert (root / "pkg/core.py").read_bytes() == b"x = 1\n"


def test_a_link_is_replaced_and_not_followed(root: Path, scratch: Scratch) -> None:
    before = Path("/etc/passwd").read_bytes()
    with scratch.copy_of(root, [FileChange(path="away", content=b"x")]) as copy:
        assert (copy / "away").read_bytes() == b"x"
    assert Path("/etc/passwd").read_bytes() == before


@pytest.mark.parametrize("path", ["link/x.py", "../x.py", "/etc/x", "."])
def test_a_change_that_leads_out_is_refused(root: Path, scratch: Scratch, path: str) -> None:
    change = FileChange(path=path, content=b"")
    with pytest.raises(UnsafeChange), scratch.copy_of(root, [change]):
        pass


def test_a_copy_that_was_locked_is_removed_all_the_same(root: Path, scratch: Scratch) -> None:
    with scratch.copy_of(root) as copy:
        (copy / "pkg").chmod(0)
    assert not copy.exists()
