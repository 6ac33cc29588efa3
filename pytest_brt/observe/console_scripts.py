"""The commands that the project under test installs, as its own metadata says."""

from __future__ import annotations

import configparser
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.execute.subject import Subject
from pytest_brt.observe.project import main_packages

_SETUP = re.compile(r"""["']([\w.-]+)\s*=\s*([\w.]+):([\w.]+)["']""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One command of the project."""

    name: str
    #: How a test starts it: the arguments after the interpreter.
    start: tuple[str, ...]


def entries(subject: Subject) -> dict[str, Entry]:
    """Return the commands by name: installed scripts, and packages that can be run with -m."""
    root = Path(subject.root)
    found: dict[str, Entry] = {}
    for name, target in _scripts(root):
        module, _, function = target.partition(":")
        if function and name not in found:
            found[name] = Entry(name=name, start=_start(subject, name, module, function))
    for package in main_packages(subject):
        if package not in found and _runs(subject, package):
            found[package] = Entry(name=package, start=("-m", package))
    return found


def _start(subject: Subject, name: str, module: str, function: str) -> tuple[str, ...]:
    if name in subject.packages and _runs(subject, name):
        return ("-m", name)
    head = function.split(".", maxsplit=1)[0]
    code = (
        f"import sys; from {module} import {head}; sys.argv[0] = {name!r}; sys.exit({function}())"
    )
    return ("-c", code)


def _runs(subject: Subject, package: str) -> bool:
    root = Path(subject.root)
    return any(
        (root / source / package / "__main__.py").is_file()
        or "__main__" in _read(root / source / f"{package}.py")
        for source in subject.source_roots
    )


def _scripts(root: Path) -> list[tuple[str, str]]:
    return [*_pyproject(root), *_setup_cfg(root), *_setup_py(root)]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _pyproject(root: Path) -> list[tuple[str, str]]:
    try:
        data = tomllib.loads(_read(root / "pyproject.toml"))
    except tomllib.TOMLDecodeError:
        return []
    poetry = data.get("tool", {}).get("poetry", {}).get("scripts", {})
    scripts = {**poetry, **data.get("project", {}).get("scripts", {})}
    return [(name, target) for name, target in scripts.items() if isinstance(target, str)]


def _setup_cfg(root: Path) -> list[tuple[str, str]]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(_read(root / "setup.cfg"))
    except configparser.Error:
        return []
    text = parser.get("options.entry_points", "console_scripts", fallback="")
    lines = [line.split("=", 1) for line in text.splitlines() if "=" in line]
    return [(name.strip(), target.strip()) for name, target in lines]


def _setup_py(root: Path) -> list[tuple[str, str]]:
    text = _read(root / "setup.py")
    start = text.find("console_scripts")
    if start < 0:
        return []
    end = text.find("]", start)
    part = text[start : end if end > 0 else len(text)]
    return [(m[1], f"{m[2]}:{m[3]}") for m in _SETUP.finditer(part)]
