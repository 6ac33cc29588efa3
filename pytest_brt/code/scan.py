"""The Python files below a folder, without those that are no source of the project."""

from __future__ import annotations

import os
from pathlib import Path

_IGNORED = frozenset(
    {"__pycache__", "__pypackages__", "node_modules", "site-packages", "dist-packages"}
)
#: Ignored only at the root of the project: further down they may be packages.
_IGNORED_AT_TOP = frozenset({"venv", "env", "build", "dist"})


def is_ignored_folder(name: str, *, top: bool = False) -> bool:
    """Return whether a folder called `name` is skipped: caches, environments, build results.

    `top` says that it lies directly in the project's root.
    """
    return (
        name in _IGNORED
        or (top and name in _IGNORED_AT_TOP)
        or name.startswith(".")
        or name.endswith(".egg-info")
    )


#: File by which the folder of an environment is known, which is no part of the project.
ENVIRONMENT = "pyvenv.cfg"
#: By what a changed file is noticed without reading it: its size, and its time in nanoseconds.
FileStamp = tuple[int, int]


def leads_out(root: Path, path: str) -> bool:
    """Return whether a file of a project is one of another place, through a link.

    A link in a project is no reason to show, or to send to a model, what is not the project's.
    """
    return not (root / path).resolve().is_relative_to(root.resolve())


def scan_tree(root: Path) -> dict[str, FileStamp]:
    """Return every Python file below `root` that may be source, by its relative POSIX path.

    Links to folders are not followed, nor are those that lead out; environments, caches and
    build results are left out.
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
        if prefix and ENVIRONMENT in names:
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
    return status.st_size, status.st_mtime_ns
