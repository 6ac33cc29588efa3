"""What the project's own files say about a name: where it is defined, how it is bound."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.code.file_facts import imported
from pytest_brt.code.layout import is_ignored_folder, is_test_path
from pytest_brt.code.scope import names_of
from pytest_brt.execute.subject import Subject
from pytest_brt.reading.mend import parses
from pytest_brt.syntax import parse

_DOCS = (".rst", ".md", ".txt")
#: Files larger than this are data.
_MOST_BYTES = 600_000
#: Files looked at, nearest to the root first.
_MOST_FILES = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualBindings:
    """How a project's files bind some names, most usual way first."""

    #: name → statements from tests, docs and docstrings that bind it.
    usual: dict[str, tuple[str, ...]]
    #: name → modules that define it at top level, shortest path first.
    defined: dict[str, tuple[str, ...]]


def find_bindings(subject: Subject, names: Iterable[str]) -> UsualBindings:
    """Look for `names` in the project's sources, tests and documentation."""
    wanted = sorted({name for name in names if name.isidentifier()})
    if not wanted:
        return UsualBindings(usual={}, defined={})
    choice = "|".join(map(re.escape, wanted)).encode()
    definition = re.compile(
        rb"^(?:class|def|async def)[ ]+(" + choice + rb")\b|^(" + choice + rb")[ ]*(?::[^=\n]+)?=",
        re.MULTILINE,
    )
    binding = re.compile(
        rb"^[ \t]*(?:>>> )?((?:from [\w.]+ import |import )[^\n#]*\b(?:" + choice + rb")\b[^\n#]*"
        rb"|[\w, ]*\b(?:" + choice + rb")\b[\w, ]* = [^\n]{1,120})$",
        re.MULTILINE,
    )
    usual: dict[str, Counter[str]] = {name: Counter() for name in wanted}
    defined: dict[str, list[str]] = {name: [] for name in wanted}
    for path, data in project_files(subject):
        test = is_test_path(path)
        if path.endswith(".py") and not test:
            module = module_name(path, subject)
            for match in definition.finditer(data) if module else ():
                defined[(match[1] or match[2]).decode()].append(module)
        for match in binding.finditer(data):
            line = match[1].decode("utf-8", "replace")
            shown = test or b">>> " in match[0] or not path.endswith(".py")
            if shown:
                for name, statement in _canonical(line, wanted):
                    usual[name][statement] += 1
    return UsualBindings(
        usual={name: tuple(s for s, _ in found.most_common(6)) for name, found in usual.items()},
        defined={
            name: tuple(sorted(dict.fromkeys(modules), key=lambda m: (m.count("."), len(m), m)))
            for name, modules in defined.items()
        },
    )


def main_packages(subject: Subject) -> tuple[str, ...]:
    """Return the project's packages; its lone modules only when it has no package.

    A module beside the packages is mostly a script, and importing it would run it.
    """
    folders = tuple(
        name
        for name in subject.packages
        if any((Path(subject.root) / root / name).is_dir() for root in subject.source_roots)
    )
    return folders or subject.packages


def module_name(path: str, subject: Subject) -> str:
    """Return the dotted name of a source file of the project, "" when it has none."""
    for root in sorted(subject.source_roots, key=len, reverse=True):
        prefix = "" if root in ("", ".") else root.rstrip("/") + "/"
        if path.startswith(prefix):
            dotted = path[len(prefix) :].removesuffix(".py").removesuffix("/__init__")
            parts = dotted.split("/")
            if parts[0] in subject.packages and all(part.isidentifier() for part in parts):
                return ".".join(parts)
    return ""


def project_files(subject: Subject) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the project's Python and documentation files."""
    seen = 0
    for folder, folders, files in os.walk(subject.root):
        top = folder == str(subject.root)
        folders[:] = sorted(f for f in folders if not is_ignored_folder(f, top=top))
        for name in sorted(files):
            if not name.endswith((".py", *_DOCS)):
                continue
            full = Path(folder) / name
            seen += 1
            if seen > _MOST_FILES:
                return
            try:
                if full.stat().st_size > _MOST_BYTES:
                    continue
                data = full.read_bytes()
            except OSError:
                continue  # vanished or unreadable: it teaches nothing
            yield full.relative_to(subject.root).as_posix(), data


def _canonical(line: str, wanted: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each wanted name that `line` binds, with the shortest statement that does."""
    line = line.strip().rstrip(";\\")
    body = parse(line).body if parses(line) else []
    if len(body) != 1:
        return
    node = body[0]
    if isinstance(node, ast.Import | ast.ImportFrom):
        for item in imported(node):
            if item.bound in wanted and item.name != "*" and not item.module.startswith("."):
                yield item.bound, item.statement
    elif isinstance(node, ast.Assign) and _is_constructor(node.value):
        for name in names_of(line).bound & set(wanted):
            yield name, ast.unparse(node)


def _is_constructor(node: ast.expr) -> bool:
    """Say whether `node` makes a value from literals alone: `Symbol("x", real=True)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return (
        bool(node.args)
        and all(isinstance(value, ast.Constant) for value in given)
        and any(
            isinstance(value, ast.Constant) and isinstance(value.value, str) for value in node.args
        )
    )
