"""Which modules and lines a change of the tree is about, for seeing that they were run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.code.changed_code import Edit as Edit
from pytest_brt.code.changed_code import changed_lines as changed_lines
from pytest_brt.code.changed_code import edits as edits
from pytest_brt.code.changed_code import module_names as module_names
from pytest_brt.code.changed_code import statement_starts as statement_starts
from pytest_brt.code.layout import is_test_path
from pytest_brt.types import FileChange


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedFile:
    """A module of the project that a row changes."""

    path: str
    #: Names under which it may be imported, likeliest first.
    names: tuple[str, ...]
    #: SHA-256 of the new content; None when the file is deleted.
    digest: str | None
    #: 1-based lines of the new content whose execution shows that the change was reached.
    lines: tuple[int, ...]


def touched_files(
    root: Path, source_roots: Sequence[str], changes: Iterable[FileChange], *, lines: bool
) -> tuple[TouchedFile, ...]:
    """Return the modules among `changes`; tests and other files are left out.

    Without `lines`, for an interpreter that cannot tell which are executed, none are looked for.
    """
    found: list[TouchedFile] = []
    for change in changes:
        names = module_names(change.path, source_roots)
        if is_test_path(change.path) or not names:
            continue
        before = root / change.path
        old = before.read_bytes() if lines and before.is_file() else b""
        new = change.content
        found.append(
            TouchedFile(
                path=change.path,
                names=names,
                digest=None if new is None else hashlib.sha256(new).hexdigest(),
                lines=changed_lines(_text(old), _text(new)) if lines and new is not None else (),
            )
        )
    return tuple(found)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
