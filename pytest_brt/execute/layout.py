"""Where a project keeps its code and its tests, and what identifies a tree of files."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pytest_brt.bounded import is_file, is_folder
from pytest_brt.project.layout import is_test_path
from pytest_brt.project.pytest_config import USUAL, CollectionPatterns
from pytest_brt.sandbox.workspace import EXCLUDED, is_environment

#: Top-level names that are part of the repository but not of the package it makes.
_NOT_PRODUCT = frozenset(
    {
        "tests", "test", "docs", "doc", "examples", "example", "benchmarks", "benchmark", "bench",
        "scripts", "tools", "ci", "build", "dist", "setup", "conftest", "noxfile", "fabfile",
        "tasks", "versioneer", "release",
    }
)  # fmt: skip


def source_roots(root: Path, extra: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the folders to put on the import path, relative to `root`, "." last.

    `extra` (the `pythonpath` setting) comes first; `src` and `lib` count when they hold a
    package or module.
    """
    found: list[str] = []
    for entry in (*extra, "src", "lib"):
        folder = (root / entry).resolve()
        is_inside = folder.is_dir() and folder.is_relative_to(root.resolve())
        if is_inside and (entry in extra or any(_import_names(folder))):
            found.append(folder.relative_to(root.resolve()).as_posix())
    return (*(name for name in dict.fromkeys(found) if name != "."), ".")


def packages(root: Path, roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the top-level import names below the source roots, tests left out."""
    found = {name for entry in roots for name in _import_names(root / entry)}
    return tuple(sorted(found - _NOT_PRODUCT - {*roots}))


def _import_names(folder: Path) -> Iterator[str]:
    """Yield the names that can be imported with `folder` on the path."""
    for path in sorted(folder.iterdir()):
        if is_folder(path):
            if path.name.isidentifier() and _is_package(path):
                yield path.name
        elif path.suffix in (".py", ".so", ".pyd"):
            name = path.name.split(".")[0]
            if name.isidentifier() and not is_test_path(path.name):
                yield name


def _is_package(folder: Path) -> bool:
    """Return whether a folder is a package: marked as one, or a namespace around one."""
    if is_file(folder / "__init__.py"):
        return True
    return folder.parent.name in ("src", "lib") and any(folder.glob("*/__init__.py"))


def suite_folder(
    root: Path, testpaths: tuple[str, ...] = (), collected: CollectionPatterns = USUAL
) -> str:
    """Return the folder for new test files, relative to `root`.

    The first of: a configured test path, a folder of the usual name, the folder that holds
    most test files (the shallowest of several), the root itself.
    """
    for entry in (*testpaths, "tests", "test", "testing"):
        folder = root / entry
        if not folder.is_dir() or not folder.resolve().is_relative_to(root.resolve()):
            continue
        if entry in testpaths or any(map(collected.has_file, files_of(folder))):
            return folder.resolve().relative_to(root.resolve()).as_posix()
    counts = Counter(
        Path(path).parent.as_posix() for path in files_of(root) if collected.has_file(path)
    )
    if not counts:
        return "."
    return min(counts, key=lambda name: (-counts[name], name.count("/"), name))


def _is_plain(path: Path) -> bool:
    """Say whether a path is a regular file, or a link to one or to nothing."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return True  # a link to nothing, or what may not be looked at: it is a name in the tree
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def files_of(root: Path) -> Iterator[str]:
    """Yield the files of a tree, relative to it, that a copy has, but for compiled ones.

    Links to folders are not followed. What is no file, such as a pipe, is no part of a project.
    """
    for folder, names, files in os.walk(root):
        here = Path(folder)
        names[:] = sorted(
            name
            for name in names
            if name not in EXCLUDED and name != "__pycache__" and not is_environment(here / name)
        )
        prefix = "" if here == root else f"{here.relative_to(root).as_posix()}/"
        for name in sorted(files):
            if not name.endswith((".pyc", ".pyo")) and _is_plain(here / name):
                yield prefix + name


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


def _content(path: Path) -> bytes:
    """Return the hash of a file, with a mark of what kind of file it is."""
    try:
        if path.is_symlink():
            return b"\0link\0" + os.fsencode(path.readlink())
        kind = b"\0run\0" if os.access(path, os.X_OK) else b"\0file\0"
        return kind + hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return b"\0unread\0"
