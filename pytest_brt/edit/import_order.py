"""Imports in the order that isort and ruff ask for."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from pathlib import Path

from pytest_brt.edit.source_text import WIDTH
from pytest_brt.project.definitions import Import, read_facts
from pytest_brt.pysource.parse import parse


def sorted_imports(imports: Iterable[Import], root: Path) -> str:
    """Return sorted import statements, the sections of a project in `root` set apart."""
    groups: dict[tuple[int, bool, str], set[str]] = {}
    for item in imports:
        key = (_section(item.module.partition(".")[0], root), bool(item.name), item.module)
        groups.setdefault(key, set()).add(item.statement)
    sections: dict[int, list[str]] = {}
    for section, is_from, module in sorted(groups, key=lambda key: (*key[:2], key[2].lower())):
        statements = sorted(groups[section, is_from, module])
        if is_from:
            start = f"from {module} import "
            names = [statement.removeprefix(start) for statement in statements]
            statements = [_from_import(start, sorted(names, key=_kind))]
        sections.setdefault(section, []).extend(statements)
    return "\n\n".join(map("\n".join, sections.values()))


def _section(top: str, root: Path) -> int:
    if top in sys.stdlib_module_names:
        return int(top != "__future__")
    return 2 + any((root / path).exists() for path in (top, f"{top}.py", f"src/{top}"))


def _kind(name: str) -> tuple[bool, bool, str]:
    """Constants come before classes, and those before the rest."""
    is_constant = name.isupper() and len(name) > 1
    return not is_constant, not name[0].isupper(), name


def _from_import(start: str, names: list[str]) -> str:
    line = start + ", ".join(names)
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{start}(", *(f"    {name}," for name in names), ")"])


def with_sorted_imports(text: str, root: Path) -> str:
    """Return a module with its imports in order; as it is where more than imports is there."""
    nodes = [node for node in parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    if not nodes:
        return text
    lines = text.split("\n")
    first, last = nodes[0].lineno - 1, nodes[-1].end_lineno or 0
    old = "\n".join(lines[first:last])
    if len(parse(old).body) > len(nodes) or "#" in old or ";" in old:
        return text
    return "\n".join([*lines[:first], sorted_imports(read_facts(old).imports, root), *lines[last:]])
