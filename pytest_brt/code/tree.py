"""The Python files of a project's folder, and the source roots that it declares."""

from __future__ import annotations

import configparser
import os
import tomllib
from collections.abc import Iterator
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


def declared_roots(root: Path) -> tuple[str, ...]:
    """Return the source roots named by pyproject.toml, pytest.ini, tox.ini and setup.cfg.

    A file that cannot be read as its format declares nothing.
    """
    roots: list[str] = []
    for name in [*_from_pyproject(root / "pyproject.toml"), *_from_ini(root)]:
        clean = os.path.normpath(name.strip()).replace("\\", "/")
        clean = "" if clean == "." else clean
        if not clean.startswith(("/", "..")) and (root / clean).is_dir() and clean not in roots:
            roots.append(clean)
    return tuple(roots)


def _from_pyproject(path: Path) -> Iterator[str]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return
    setuptools = _table(_table(data, "tool"), "setuptools")
    package_dir = _table(setuptools, "package-dir").get("")
    if isinstance(package_dir, str):
        yield package_dir
    yield from _strings(_table(_table(setuptools, "packages"), "find").get("where"))
    pytest = _table(_table(data, "tool"), "pytest")
    yield from _strings(_table(pytest, "ini_options").get("pythonpath"))
    yield from _strings(pytest.get("pythonpath"))


def _table(data: dict[str, object], key: str) -> dict[str, object]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _from_ini(root: Path) -> Iterator[str]:
    for name, section in (
        ("pytest.ini", "pytest"),
        ("tox.ini", "pytest"),
        ("setup.cfg", "tool:pytest"),
    ):
        yield from _ini_value(root / name, section, "pythonpath").split()
    for line in _ini_value(root / "setup.cfg", "options", "package_dir").splitlines():
        package, equals, folder = line.partition("=")
        if equals and not package.strip():
            yield folder.strip()
    yield from _ini_value(root / "setup.cfg", "options.packages.find", "where").split()


def _ini_value(path: Path, section: str, key: str) -> str:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return ""
    return parser.get(section, key, fallback="")
