"""Where a project keeps its code and its tests, and what identifies a tree of files."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pytest_brt.project.layout import Layout
from pytest_brt.project.pytest_config import CollectionPatterns
from pytest_brt.sandbox.shown import is_below
from pytest_brt.sandbox.workspace import EXCLUDED, is_environment


def source_roots(root: Path, declared: Iterable[str], layout: Layout) -> tuple[str, ...]:
    """Return the folders to put on the import path, relative to `root`, "." last.

    Those that are `declared` (the `pythonpath` setting) come first; `src` and `lib` count when
    they hold code.
    """
    usual = (name for name in ("src", "lib") if name in layout.roots)
    inside = filter(None, (_inside(root, entry) for entry in (*declared, *usual)))
    return (*(name for name in dict.fromkeys(inside) if name != "."), ".")


def _inside(root: Path, entry: str) -> str:
    """Return a folder of the project relative to it, "" for one that is none."""
    folder, top = (root / entry).resolve(), root.resolve()
    is_inside = folder.is_dir() and folder.is_relative_to(top)
    return folder.relative_to(top).as_posix() if is_inside else ""


def suite_folder(
    root: Path, testpaths: Collection[str], collected: CollectionPatterns, files: Iterable[str]
) -> str:
    """Return the folder for new test files, relative to `root`, of a project of some files.

    The first of: a configured test path, a folder of the usual name, the folder that holds
    most test files (the shallowest of several), the root itself.
    """
    tests = [path for path in files if collected.has_file(path)]
    for entry in (*testpaths, "tests", "test", "testing"):
        folder = _inside(root, entry)
        if folder and (entry in testpaths or any(is_below(path, folder) for path in tests)):
            return folder
    counts = Counter(Path(path).parent.as_posix() for path in tests)
    return min(counts, key=lambda name: (-counts[name], name.count("/"), name), default=".")


def files_of(root: Path) -> Iterator[str]:
    """Yield the files of a tree, relative to it, that a copy has, but for compiled ones.

    Links to folders are not followed. What is no file, such as a pipe, is no part of a project.
    """
    for folder, names, files in os.walk(root):
        here = Path(folder)
        without = {name for name in names if name in EXCLUDED or is_environment(here / name)}
        names[:] = sorted({*names} - without - {"__pycache__"})
        for path in (here / name for name in sorted(files)):
            # A link to nothing is a name in the tree.
            is_plain = path.is_file() or not Path(path).exists()
            if is_plain and path.suffix not in (".pyc", ".pyo"):
                yield path.relative_to(root).as_posix()


def hash_of(root: Path, *, without: Collection[Path] = ()) -> str:
    """Return the SHA-256 of the files below `root`, as hex digits: names, mode bit and bytes.

    The files and folders `without` are left out, and what a copy of the tree does without. Files
    that cannot be read are all alike.
    """
    digest = hashlib.sha256()
    for name in files_of(root):
        path = root / name
        if {path, *path.parents}.isdisjoint(without):
            state: list[object] = [name, os.access(path, os.X_OK)]
            with suppress(OSError):
                is_link = path.is_symlink()
                content = path.readlink() if is_link else hashlib.sha256(path.read_bytes()).digest()
                state.append(content)
            digest.update(repr(state).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
