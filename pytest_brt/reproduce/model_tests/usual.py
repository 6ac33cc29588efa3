"""Imports that every Python programmer means by a name, where the project says nothing of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_brt.code.imports import add_imports, find_import
from pytest_brt.code.index import Index
from pytest_brt.code.scope import undefined_names
from pytest_brt.syntax import parse

_HOME = {
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple"),
    "contextlib": ("contextmanager", "redirect_stdout", "suppress"),
    "copy": ("deepcopy",),
    "dataclasses": ("dataclass",),
    "datetime": ("timedelta", "timezone"),
    "decimal": ("Decimal",),
    "enum": ("Enum", "IntEnum"),
    "fractions": ("Fraction",),
    "functools": ("partial", "reduce"),
    "io": ("BytesIO", "StringIO"),
    "pathlib": ("Path",),
    "textwrap": ("dedent",),
    "types": ("SimpleNamespace",),
    "unittest": ("TestCase", "mock"),
    "unittest.mock": ("MagicMock", "Mock", "patch"),
    "uuid": ("uuid4",),
}
_USUAL = {name: f"from {module} import {name}" for module, names in _HOME.items() for name in names}
#: Modules with a class of their own name: what is asked of the class, and not of the module.
_CLASSES = {
    "datetime": {"now", "strptime", "utcnow", "fromtimestamp", "fromisoformat", "combine", "today"},
    "date": {"today", "fromisoformat"},
}


def with_usual_imports(source: str, index: Index, *, near: str = "") -> str:
    """Return the module `source` with imports for names that need no project to be known.

    What the project itself calls so comes first, and is left to `code.imports.resolve`.

    Raises:
        SyntaxError: `source` is not Python.
    """
    tree = parse(source)
    added = []
    for missing in undefined_names(source):
        known = find_import(missing.name, index, near=near)
        asked = {attribute for name, attribute in _attributes(tree) if name == missing.name}
        called = missing.name in _called_plainly(tree)
        if missing.name in _CLASSES and known in ("", f"import {missing.name}"):
            if called or asked & _CLASSES[missing.name]:
                added.append(f"from datetime import {missing.name}")
        elif not known and missing.name in _USUAL:
            added.append(_USUAL[missing.name])
    return add_imports(source, added)


def _attributes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield node.value.id, node.attr


def _called_plainly(tree: ast.Module) -> set[str]:
    """Return the names that are called as they are, and not as attributes."""
    return {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
