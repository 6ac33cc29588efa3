"""Imports in the order that isort and ruff ask for."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from pytest_brt.code.file_facts import Import, read_facts
from pytest_brt.code.fitting import WIDTH, broken_line
from pytest_brt.pysource.parse import parse


def sorted_imports(imports: Iterable[Import], root: Path) -> str:
    """Return sorted import statements, the sections of a project in `root` set apart."""
    found: defaultdict[tuple[int, bool, str], set[tuple[bool, bool, str]]] = defaultdict(set)
    for one in imports:
        key = (_section(one.module, root), bool(one.name), one.module)
        # Constants come before classes, and those before the rest.
        is_constant = one.name.isupper() and len(one.name) > 1
        found[key].add((not is_constant, not one.name[:1].isupper(), one.statement))
    sections: dict[int, list[str]] = {}
    for (section, is_from, module), ranked in sorted(found.items(), key=_place):
        statements = [statement for *_, statement in sorted(ranked)]
        lines = _joined(f"from {module} import ", statements) if is_from else statements
        sections.setdefault(section, []).extend(lines)
    return "\n\n".join(map("\n".join, sections.values()))


def _place(item: tuple[tuple[int, bool, str], object]) -> tuple[int, bool, str]:
    section, is_from, module = item[0]
    return section, is_from, module.lower()


def _section(module: str, root: Path) -> int:
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return top != "__future__"
    return 2 + any((root / path).exists() for path in (top, f"{top}.py", f"src/{top}"))


def _joined(start: str, statements: list[str]) -> list[str]:
    names = ", ".join(statement.removeprefix(start) for statement in statements)
    line = start + names
    return [line] if len(line) <= WIDTH else broken_line(f"{start}({names})")


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
