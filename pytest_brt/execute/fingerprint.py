"""A hash that changes when a project's working tree does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from pytest_brt.execute.layout import LEFT_OUT, is_environment

#: How names of files end that hold code, or say how it is run.
CODE = (".py", ".pyi", ".pyx", ".toml", ".cfg", ".ini")


def tree_hash(root: Path, endings: tuple[str, ...] = ("",)) -> str:
    """Return the SHA-256 of every path, mode bit and byte below `root`, as hex digits.

    Only files whose names have one of the `endings` count. Left out are version control, caches
    of tools, environments and bytecode: what a copy of the tree does without. Files that cannot
    be read count by their name.
    """
    digest = hashlib.sha256()
    for path in files_of(root):
        if not path.name.endswith(endings):
            continue
        digest.update(path.relative_to(root).as_posix().encode("utf-8", "surrogateescape"))
        digest.update(_content(path))
    return digest.hexdigest()


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
