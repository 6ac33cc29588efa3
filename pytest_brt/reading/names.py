"""Which names a statement uses, binds and changes; and what a test needs to stand alone."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pytest_brt.code.scope import bound_names, read_names, undefined_names
from pytest_brt.syntax import parse

_Node = TypeVar("_Node", bound=ast.AST)
_BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "_", "__"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names of one statement at module level."""

    #: Read before being bound in the statement itself, built-ins left out.
    used: frozenset[str]
    bound: frozenset[str]
    #: Names whose object may be changed: `x.append(1)`, `x[0] = 1`, `x.a = 1`, `f(x)` alone.
    changed: frozenset[str]
    #: Built-ins it reads, in case something else binds their names.
    builtin: frozenset[str] = frozenset()
    #: Modules imported with a star.
    stars: tuple[str, ...] = ()


def names_of(source: str) -> Names:
    """Return the names of a statement that parses."""
    tree = parse(source)
    bound, changed = bound_names(source), frozenset(_changed(tree))
    deleted = {_root(target) for node in _all(tree, ast.Delete) for target in node.targets}
    used = {missing.name for missing in undefined_names(source)} | (deleted - {""})
    stars = [node for node in _all(tree, ast.ImportFrom) if node.names[0].name == "*"]
    return Names(
        used=frozenset(used) - _BUILTINS,
        bound=bound,
        changed=changed - {""},
        builtin=(read_names(source) - bound | used) & _BUILTINS,
        stars=tuple("." * node.level + (node.module or "") for node in stars),
    )


def _all(tree: ast.AST, kind: type[_Node]) -> Iterator[_Node]:
    return (node for node in ast.walk(tree) if isinstance(node, kind))


def _changed(tree: ast.Module) -> Iterator[str]:
    """Yield the names whose objects may be changed: parts set, methods called, given away."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            yield _root(part)
        elif isinstance(part, ast.AugAssign | ast.Delete):
            targets = part.targets if isinstance(part, ast.Delete) else [part.target]
            yield from map(_root, targets)
        elif isinstance(part, ast.Expr):
            for call in _all(part, ast.Call):
                yield from (_root(call.func),) if isinstance(call.func, ast.Attribute) else ()
                yield from (node.id for node in call.args if isinstance(node, ast.Name))


def _root(node: ast.AST) -> str:
    """Return the name that an attribute, subscript or call chain starts from, or ""."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def needed(sources: Sequence[str], last: int, wanted: frozenset[str] | None = None) -> list[int]:
    """Return the indices of the statements before `last` that its names depend on, in order.

    `wanted` are further names the result must provide. An assignment is followed only
    backwards; a call on an object, or an assignment to a part of it, belongs to the object.
    """
    every = [names_of(source) for source in sources[: last + 1]]
    need = every[last].used | every[last].builtin | (wanted or frozenset())
    imported = {
        name
        for source, names in zip(sources, every, strict=False)
        if source.startswith(("import ", "from "))
        for name in names.bound
    }
    chosen: list[int] = []
    for index in range(last - 1, -1, -1):
        names = every[index]
        binds = names.bound & need
        changes = (names.changed - names.bound - imported) & need
        if not binds and not changes:
            continue
        chosen.append(index)
        reads = names.used | names.builtin
        if binds:
            need -= binds - reads
        need |= reads
    return sorted(chosen)
