"""Bytes as text and back, with no byte lost; and changes as a diff."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from pathlib import Path

from pytest_brt.types import FileChange

#: Of files, by whether they are executable.
_MODES = {False: "100644", True: "100755"}


def encode(text: str) -> bytes:
    """Return the bytes that `text` was decoded from."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """Return `data` as text from which `encode` makes the same bytes again."""
    return data.decode("utf-8", "surrogateescape")


def canonical_diff(changes: Iterable[FileChange], root: Path) -> str:
    """Return `changes` of the tree at `root` as a diff that git applies; "" when nothing changes.

    Bytes that are not UTF-8 are kept as surrogate escapes. Only the changed files are read.
    """
    return "".join(part for change in changes for part in _file_diff(change, root / change.path))


def _file_diff(change: FileChange, file: Path) -> Iterator[str]:
    before = file.read_bytes() if file.is_file() else None
    old_mode, new_mode = _MODES[os.access(file, os.X_OK)], _MODES[change.executable]
    if change.content == before and (before is None or old_mode == new_mode):
        return
    yield f"diff --git a/{change.path} b/{change.path}\n"
    if before is None:
        yield f"new file mode {new_mode}\n"
    elif change.content is None:
        yield f"deleted file mode {old_mode}\n"
    elif old_mode != new_mode:
        yield f"old mode {old_mode}\nnew mode {new_mode}\n"
    old_name = "/dev/null" if before is None else f"a/{change.path}"
    new_name = "/dev/null" if change.content is None else f"b/{change.path}"
    old, new = (_lines(content or b"") for content in (before, change.content))
    for line in unified_diff(old, new, old_name, new_name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(content: bytes) -> list[str]:
    return [line for line in decode(content).replace("\n", "\n\0").split("\0") if line]
