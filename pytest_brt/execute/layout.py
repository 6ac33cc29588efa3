"""Where a project keeps its code and its tests, and what identifies a tree of files."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pytest_brt.bounded import is_file
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


def source_roots(root: Path, extra: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the folders to put on the import path, relative to `root`, "." last.

    `extra` (the `pythonpath` setting) comes first; `src` and `lib` count when they hold a
    package or module.
    """
    usual = (name for name in ("src", "lib") if any(_import_names(root / name)))
    inside = filter(None, (_inside(root, entry) for entry in (*extra, *usual)))
    return (*(name for name in dict.fromkeys(inside) if name != "."), ".")


def _inside(root: Path, entry: str) -> str:
    """Return a folder of the project relative to it, "" for one that is none."""
    folder, top = (root / entry).resolve(), root.resolve()
    is_inside = folder.is_dir() and folder.is_relative_to(top)
    return folder.relative_to(top).as_posix() if is_inside else ""


def packages(root: Path, roots: Collection[str]) -> tuple[str, ...]:
    """Return the top-level import names below the source roots, tests left out."""
    names = {name for entry in roots for name in _import_names(root / entry)}
    return tuple(sorted(names - _NOT_PRODUCT - {*roots}))


def _import_names(folder: Path) -> Iterator[str]:
    """Yield the names that can be imported with `folder` on the path."""
    for path in sorted(folder.glob("*")):
        name = path.name.partition(".")[0]
        is_package = is_file(path / "__init__.py") or (
            # A namespace around packages.
            folder.name in ("src", "lib") and any(path.glob("*/__init__.py"))
        )
        is_module = path.suffix in (".py", ".so", ".pyd") and not is_test_path(path.name)
        if name.isidentifier() and (is_module if path.suffix else is_package):
            yield name


def suite_folder(
    root: Path, testpaths: Collection[str] = (), collected: CollectionPatterns = USUAL
) -> str:
    """Return the folder for new test files, relative to `root`.

    The first of: a configured test path, a folder of the usual name, the folder that holds
    most test files (the shallowest of several), the root itself.
    """
    for entry in (*testpaths, "tests", "test", "testing"):
        folder = _inside(root, entry)
        if folder and (entry in testpaths or any(map(collected.has_file, files_of(root / folder)))):
            return folder
    counts = Counter(
        Path(path).parent.as_posix() for path in files_of(root) if collected.has_file(path)
    )
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
            is_plain = path.is_file() or path.is_symlink()
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
