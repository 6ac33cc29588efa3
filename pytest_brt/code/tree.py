"""The Python files of a project's folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.code.layout import is_ignored_folder

#: Files by which a folder is known that is no part of the project: an environment, and what
#: a run of ours keeps (`--brt-record`).
SIGNS = frozenset({"pyvenv.cfg", "evidence.json", "replies.jsonl"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStamp:
    """By what a changed file is noticed without reading it."""

    size: int
    #: Nanoseconds.
    mtime_ns: int


def leads_out(root: Path, path: str) -> bool:
    """Return whether a file of a project is one of another place, through a link.

    A link in a project is no reason to show, or to send to a model, what is not the project's.
    """
    return not (root / path).resolve().is_relative_to(root.resolve())


def scan_tree(root: Path) -> dict[str, FileStamp]:
    """Return every Python file below `root` that may be source, by its relative POSIX path.

    Links to folders are not followed, nor are those that lead out; environments, records of
    our runs, caches and build results are left out.
    """
    found: dict[str, FileStamp] = {}
    todo = [""]
    while todo:
        prefix = todo.pop()
        folder = os.path.join(root, prefix)  # noqa: PTH118 (thousands of them: speed)
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue  # unreadable folders hold nothing for us
        names = {entry.name for entry in entries}
        if prefix and not SIGNS.isdisjoint(names):
            continue
        for entry in entries:
            if entry.name.endswith(".py"):
                stamp = _stamp(entry)
                outside = entry.is_symlink() and leads_out(root, prefix + entry.name)
                if stamp and not outside:
                    found[prefix + entry.name] = stamp
            elif entry.is_dir(follow_symlinks=False) and not is_ignored_folder(
                entry.name, top=not prefix
            ):
                todo.append(f"{prefix}{entry.name}/")
    return found


def _stamp(entry: os.DirEntry[str]) -> FileStamp | None:
    try:
        if not entry.is_file():
            return None
        status = entry.stat()
    except OSError:
        return None  # a dangling link
    return FileStamp(size=status.st_size, mtime_ns=status.st_mtime_ns)
