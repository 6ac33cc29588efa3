from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from mmap import mmap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.errors import UnsafeChange
from pytest_brt.execute.tree import TreeCopy, remove_tree
from pytest_brt.types import FileChange


def _content(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    for name in ("pkg/a.py", "pkg/_version.py", "pkg/sub/b.py", "README", ".git/config", ".tox/x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n", encoding="utf-8")
    (root / "env").mkdir()
    (root / "env" / "pyvenv.cfg").write_text("home = /usr\n", encoding="utf-8")
    (root / "link").symlink_to("pkg/a.py")
    (root / "run.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (root / "run.sh").chmod(0o755)
    os.mkfifo(root / "pipe")
    return root


def test_the_working_tree_is_copied_without_what_is_not_code(source: Path, tmp_path: Path) -> None:
    copy = TreeCopy(source, tmp_path / "copy").place
    assert sorted(_content(copy)) == sorted(
        ["pkg/a.py", "pkg/_version.py", "pkg/sub/b.py", "README", "link", "run.sh"]
    )
    assert (copy / "link").is_symlink()
    assert os.access(copy / "run.sh", os.X_OK)
    assert (copy / "pkg/a.py").stat().st_mtime_ns == (source / "pkg/a.py").stat().st_mtime_ns


@pytest.mark.parametrize("base", ["", "/dev/shm"], ids=["on disk", "in memory"])
def test_restore_undoes_what_is_written_through_a_map(
    base: str, source: Path, tmp_path: Path
) -> None:
    if base and not os.access(base, os.W_OK):
        pytest.skip("no file system in memory here")
    with tempfile.TemporaryDirectory(dir=base or tmp_path) as folder:
        tree = TreeCopy(source, Path(folder, "copy"))
        before = _content(tree.place)
        with (tree.place / "pkg/a.py").open("r+b") as stream, mmap(stream.fileno(), 0) as memory:
            at = memory.find(b"pkg")
            memory[at : at + 4] = b"evil"
        (tree.place / "README").chmod(0)
        tree.restore()
        assert _content(tree.place) == before


def test_restore_undoes_whatever_happened(source: Path, tmp_path: Path) -> None:
    tree = TreeCopy(source, tmp_path / "copy")
    before = _content(tree.place)
    times = (tree.place / "README").stat()
    (tree.place / "pkg/a.py").write_text("# pkg/x.py\n", encoding="utf-8")
    os.utime(tree.place / "pkg/a.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    (tree.place / "pkg/sub/b.py").unlink()
    (tree.place / "pkg/sub").rmdir()
    (tree.place / "new/deep").mkdir(parents=True)
    (tree.place / "new/deep/file").write_text("x", encoding="utf-8")
    (tree.place / "README").unlink()
    (tree.place / "README").mkdir()
    tree.restore()
    assert _content(tree.place) == before
    assert not (tree.place / "new").exists()
    inodes = [path.stat().st_ino for path in sorted(tree.place.rglob("*"))]
    tree.restore()
    assert inodes == [path.stat().st_ino for path in sorted(tree.place.rglob("*"))]


def test_bytecode_goes_with_the_file_it_was_made_from(source: Path, tmp_path: Path) -> None:
    tree = TreeCopy(source, tmp_path / "copy")
    cache = tree.place / "pkg/__pycache__"
    cache.mkdir()
    for name in ("a.cpython-311.pyc", "a.cpython-38-pytest-6.2.5.pyc", "ab.cpython-311.pyc"):
        (cache / name).write_bytes(b"x")
    (tree.place / "pkg/a.pyc").write_bytes(b"x")
    stamp = (tree.place / "pkg/a.py").stat().st_mtime
    tree.apply([FileChange(path="pkg/a.py", content=b"# pkg/b.py\n")])
    assert [p.name for p in cache.iterdir()] == ["ab.cpython-311.pyc"]
    assert not (tree.place / "pkg/a.pyc").exists()
    assert int((tree.place / "pkg/a.py").stat().st_mtime) != int(stamp)
    tree.apply([FileChange(path="pkg/sub/b.py", content=None)])
    assert not (tree.place / "pkg/sub").exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "pkg/../../x", "", "out/x"])
def test_a_change_cannot_leave_the_tree(source: Path, tmp_path: Path, path: str) -> None:
    (source / "out").symlink_to(tmp_path)
    tree = TreeCopy(source, tmp_path / "copy")
    with pytest.raises(UnsafeChange):
        tree.apply([FileChange(path=path, content=b"")])
    assert not (tmp_path / "x").exists()


def test_a_change_replaces_a_link_and_not_what_it_leads_to(source: Path, tmp_path: Path) -> None:
    tree = TreeCopy(source, tmp_path / "copy")
    tree.apply([FileChange(path="link", content=b"mine")])
    assert (tree.place / "link").read_bytes() == b"mine"
    assert (tree.place / "pkg/a.py").read_bytes() == b"# pkg/a.py\n"


_NAMES = st.sampled_from(["a.py", "p/a.py", "p/b.py", "p/q/c.py", "d", "p"])
_CHANGES = st.lists(st.tuples(_NAMES, st.none() | st.binary(max_size=3)), max_size=6)


@given(_CHANGES)
def test_restore_always_brings_back_the_source(changes: list[tuple[str, bytes | None]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        (source / "p").mkdir(parents=True)
        (source / "p/a.py").write_bytes(b"1")
        (source / "d").write_bytes(b"2")
        tree = TreeCopy(source, Path(folder) / "copy")
        for name, content in changes:
            if content is None and (tree.place / name).is_dir():
                continue
            with suppress(UnsafeChange):  # a file stands where a folder would have to be
                tree.apply([FileChange(path=name, content=content)])
        tree.restore()
        assert _content(tree.place) == {"p/a.py": b"1", "d": b"2"}


def test_a_folder_is_removed_whatever_permissions_are_set_in_it(tmp_path: Path) -> None:
    inner = tmp_path / "folder/locked/inner"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x", encoding="utf-8")
    (tmp_path / "folder/link").symlink_to(tmp_path)
    for place in (inner, inner.parent, tmp_path / "folder"):
        place.chmod(0)
    remove_tree(tmp_path / "folder")
    assert [*tmp_path.iterdir()] == []
