"""Makes the names in a piece of test code mean something in the tree, before anything runs.

`resolve` adds the imports that are missing; what is imported already, `names` checks.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.names import NameProblem
from pytest_brt.code.scope import UndefinedName, undefined_names
from pytest_brt.syntax import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A module with the imports that it needs."""

    source: str
    #: The import statements that were added.
    added: tuple[str, ...]
    #: Undefined names that are fixtures of the place where the test goes.
    fixtures: tuple[str, ...]
    #: Undefined names that nothing was found for.
    problems: tuple[NameProblem, ...]


def resolve(
    source: str,
    index: Index,
    *,
    near: str = "",
    fixtures: Collection[str] = (),
) -> Resolution:
    """Return `source` with imports for its undefined names.

    A name is, in this order: a package of the project, what that package exports, the one
    top-level definition of that name, what the test file `near` imports, a fixture, what the
    tree's tests most often import under that name, a module of the standard library.

    Args:
        source: a module, or statements.
        index: the project.
        near: the test file that the code will be added to or stand beside, or "".
        fixtures: names of the fixtures that are known there.

    Raises:
        SyntaxError: `source` is not Python.
    """
    added: list[str] = []
    given: list[str] = []
    problems: list[NameProblem] = []
    open_star = _has_open_star(source, index)
    for missing in undefined_names(source):
        if _comes_with_star(missing.name, source, index):
            continue
        statement = find_import(missing.name, index, near=near, fixtures=fixtures)
        if statement:
            added.append(statement)
        elif missing.name in fixtures:
            given.append(missing.name)
        elif not open_star:
            problems.append(_unknown(missing, index))
    return Resolution(
        source=add_imports(source, added),
        added=tuple(added),
        fixtures=tuple(given),
        problems=tuple(problems),
    )


def find_import(name: str, index: Index, *, near: str = "", fixtures: Collection[str] = ()) -> str:
    """Return the import statement that gives `name` its meaning in the tree, "" when none does."""
    return next(_candidates(name, index, near, fixtures), "")


def _candidates(name: str, index: Index, near: str, fixtures: Collection[str]) -> Iterator[str]:
    packages = index.packages
    if name in packages:
        yield f"import {name}"
    for package in packages:
        if _is_exported(name, package, index):
            yield f"from {package} import {name}"
    definition = index.unique_definition(name)
    if definition:
        yield f"from {definition.module} import {name}"
    for item in index.imports_in(near) if near else ():
        if item.bound == name and item.top:
            yield item.statement
    if name in fixtures:
        return
    if common := most_common_import(name, index):
        yield common
    if name in sys.stdlib_module_names:
        yield f"import {name}"


def most_common_import(name: str, index: Index) -> str:
    """Return the import that binds `name` most often, in tests if there, else "".

    This is how LIBRO finds the package of a class that it does not know (paper 001,
    requirement 21 of its code).
    """
    items = [item for item in index.imports_of(name) if item.top]
    for wanted in (True, False):
        counts = Counter(item.statement for item in items if is_test_path(item.path) == wanted)
        if counts:
            return min(counts, key=lambda statement: (-counts[statement], statement))
    return ""


def _is_exported(name: str, package: str, index: Index) -> bool:
    """Return whether `package` itself offers `name`: modules it merely uses do not count."""
    exports = index.exports(package)
    if name not in exports.public:
        return False
    if index.layout.path_of(f"{package}.{name}"):
        return True
    foreign = [
        item
        for item in index.imports_of(name)
        if item.module.partition(".")[0] not in index.packages
    ]
    defined = any(d.top and not is_test_path(d.path) for d in index.definitions(name))
    return defined or not foreign


def _has_open_star(source: str, index: Index) -> bool:
    """Return whether a star import of `source` may bring names that nobody can know."""
    return any(not index.exports(module).complete for module in _starred(source))


def _comes_with_star(name: str, source: str, index: Index) -> bool:
    return any(name in index.exports(module).public for module in _starred(source))


def _starred(source: str) -> list[str]:
    return [
        node.module
        for node in ast.walk(parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and node.names[0].name == "*"
    ]


def _unknown(missing: UndefinedName, index: Index) -> NameProblem:
    near = index.names_like(missing.name, limit=3)
    hint = f" (is it {' or '.join(map(repr, near))}?)" if near else ""
    return NameProblem(
        name=missing.name,
        line=missing.line,
        message=f"nothing in the project is called {missing.name!r}{hint}",
    )


def add_imports(source: str, statements: Sequence[str]) -> str:
    """Return `source` with `statements` after its docstring and ``__future__`` imports."""
    if not statements:
        return source
    after = 0
    for at, node in enumerate(parse(source).body):
        is_doc = at == 0 and isinstance(node, ast.Expr) and _is_string(node.value)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (is_doc or is_future):
            break
        after = node.end_lineno or after
    lines = source.split("\n")
    if after == 0:
        while after < len(lines) and lines[after].startswith("#"):
            after += 1
    return "\n".join([*lines[:after], *statements, *lines[after:]])


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
