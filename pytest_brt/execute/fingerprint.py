"""A hash that changes when a project's working tree does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pytest_brt.execute.layout import LEFT_OUT, is_environment

#: How names of files end that hold code, or say how it is run.
CODE = (".py", ".pyi", ".pyx", ".toml", ".cfg", ".ini")


def contents_of(
    root: Path, endings: tuple[str, ...] = ("",), *, without: Collection[Path] = ()
) -> dict[str, bytes]:
    """Return a hash of each file below `root` whose name has one of the `endings`, by path.

    The files and folders `without` are left out. It covers mode bit and bytes. Left out are
    version control, caches of tools, environments and bytecode: what a copy of the tree does
    without. Files that cannot be read are all alike.
    """
    return {
        path.relative_to(root).as_posix(): _content(path)
        for path in files_of(root)
        if path.name.endswith(endings) and not any(w == path or w in path.parents for w in without)
    }


def hash_of(contents: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of what `contents_of` found, as hex digits."""
    digest = hashlib.sha256()
    for path, content in contents.items():
        digest.update(path.encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def tree_hash(root: Path, *, without: Collection[Path] = ()) -> str:
    """Return the SHA-256 of every path, mode bit and byte below `root`; see `contents_of`."""
    return hash_of(contents_of(root, without=without))


def files_of(root: Path) -> Iterator[Path]:
    """Yield every file and link that a copy of the tree needs, in a fixed order."""
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(
            name
            for name in folders
            if name not in LEFT_OUT and name != "__pycache__" and not is_environment(here / name)
        )
        yield from (here / name for name in sorted(names) if not name.endswith((".pyc", ".pyo")))


def _content(path: Path) -> bytes:
    """Return the hash of a file, with a mark of what kind of file it is."""
    try:
        if path.is_symlink():
            return b"\0link\0" + os.fsencode(path.readlink())
        kind = b"\0run\0" if os.access(path, os.X_OK) else b"\0file\0"
        return kind + hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return b"\0unread\0"
