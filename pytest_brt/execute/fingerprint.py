"""A hash that changes when a project's working tree does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from pytest_brt.execute.layout import files_of

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
        name: _content(root / name)
        for name in files_of(root)
        if name.endswith(endings) and {root / name, *(root / name).parents}.isdisjoint(without)
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


def _content(path: Path) -> bytes:
    """Return the hash of a file, with a mark of what kind of file it is."""
    try:
        if path.is_symlink():
            return b"\0link\0" + os.fsencode(path.readlink())
        kind = b"\0run\0" if os.access(path, os.X_OK) else b"\0file\0"
        return kind + hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return b"\0unread\0"
