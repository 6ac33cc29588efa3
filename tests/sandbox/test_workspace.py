"""Private copies: what is in them, what can be written, and that they go."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pytest_brt.errors import UnsafeChange
from pytest_brt.sandbox.workspace import Workspace, private_copy
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


def copy_of(root: Path, folder: Path) -> AbstractContextManager[Workspace]:
    return private_copy(root, folder, folder / "bytecode")


def names(workspace: Workspace) -> set[str]:
    return {path.relative_to(workspace.copy).as_posix() for path in workspace.copy.rglob("*")}


def test_caches_environments_and_pipes_are_not_copied(tmp_path: Path, root: Path) -> None:
    with copy_of(root, tmp_path) as workspace:
        copied = {"pkg", "pkg/core.py", ".venv", ".tox", ".tox/py", "link", "away"}
        assert names(workspace) == copied
        assert set(workspace.environments) == {str(root / ".venv"), str(root / ".tox/py")}
        assert (workspace.copy / "link").is_symlink()
    assert not workspace.copy.exists()


def test_a_folder_that_can_only_be_read_can_be_written_in_the_copy(
    tmp_path: Path, root: Path
) -> None:
    (root / "pkg").chmod(0o555)
    with copy_of(root, tmp_path) as workspace:
        assert (workspace.copy / "pkg").stat().st_mode & 0o777 == 0o755
    assert (root / "pkg").stat().st_mode & 0o777 == 0o555


def test_a_change_drops_bytecode(tmp_path: Path, root: Path) -> None:
    cached = root / "pkg/__pycache__/core.cpython-311.pyc"
    cached.parent.mkdir()
    cached.touch()
    with copy_of(root, tmp_path) as workspace:
        workspace.write([FileChange(path="pkg/core.py", content=b"x = 2\n", executable=True)])
        changed = workspace.copy / "pkg/core.py"
        assert changed.read_bytes() == b"x = 2\n"
        assert os.access(changed, os.X_OK)
        assert not (workspace.copy / "pkg/__pycache__" / cached.name).exists()
        workspace.write([FileChange(path="pkg/core.py", content=None)])
        assert not changed.exists()
    assert (root / "pkg/core.py").read_bytes() == b"x = 1\n"


def test_a_link_is_replaced_and_not_followed(tmp_path: Path, root: Path) -> None:
    before = Path("/etc/passwd").read_bytes()
    with copy_of(root, tmp_path) as workspace:
        workspace.write([FileChange(path="away", content=b"x")])
        assert (workspace.copy / "away").read_bytes() == b"x"
    assert Path("/etc/passwd").read_bytes() == before


@pytest.mark.parametrize("path", ["link/x.py", "../x.py", "/etc/x", "."])
def test_a_change_that_leads_out_is_refused(tmp_path: Path, root: Path, path: str) -> None:
    with copy_of(root, tmp_path) as workspace, pytest.raises(UnsafeChange):
        workspace.write([FileChange(path=path, content=b"")])


def test_a_copy_that_was_locked_is_removed_all_the_same(tmp_path: Path, root: Path) -> None:
    with copy_of(root, tmp_path) as workspace:
        (workspace.copy / "pkg").chmod(0)
    assert not workspace.copy.exists()
