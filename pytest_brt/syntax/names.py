"""Which names a piece of Python uses, binds and changes, and which are bound nowhere before."""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import symtable
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import CodeType
from typing import TypeVar

from pytest_brt.syntax.parse import IMPORTS, compiled, parse, symbols

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__annotations__"}
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def undefined_names(source: str) -> tuple[str, ...]:
    """Return the names that `source` uses without having bound them, in order of first use.

    Scopes are those of the compiler (`symtable`): comprehensions, classes, ``global``, walrus.
    Statements of the module that use a name before binding it (``x = x + 1`` first of all) count
    too. With a star import in it, some of them may come from there.

    Raises:
        SyntaxError: `source` is not a module.
    """
    table = symbols(source)
    names = (_global_uses(table) - _bound_globally(table) | _early(source)) - _BUILTINS
    uses = sorted(_all(parse(source), ast.Name), key=lambda node: node.lineno, reverse=True)
    lines = {node.id: node.lineno for node in uses}  # of its first use
    return tuple(sorted(names, key=lambda name: (lines.get(name, 1), name)))


def bound_names(source: str) -> frozenset[str]:
    """Return the names that the module `source` binds at its top level, star imports left out.

    Raises:
        SyntaxError: `source` is not a module.
    """
    return frozenset(_bound_globally(symbols(source)))


def _bound_globally(table: symtable.SymbolTable) -> set[str]:
    """Return what module `table` binds, by itself or by a ``global`` statement further in."""
    return {
        s.get_name()
        for scope in _scopes(table)
        for s in scope.get_symbols()
        if (scope is table or s.is_declared_global()) and (s.is_assigned() or s.is_imported())
    }


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """Yield `table` and all that are inside of it."""
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _global_uses(table: symtable.SymbolTable) -> set[str]:
    return {
        s.get_name()
        for scope in _scopes(table)
        for s in scope.get_symbols()
        if s.is_referenced() and (scope is table or s.is_global())
    }


def _early(source: str) -> set[str]:
    """Return the names that the module binds only after it has read them, as its code runs.

    What stands in functions and classes is not followed; comprehensions are.
    """
    bound: set[str] = set()
    early: set[str] = set()

    def follow(code: CodeType) -> None:
        for step in dis.get_instructions(code):
            if isinstance(step.argval, CodeType) and step.argval.co_name in _COMPREHENSIONS:
                follow(step.argval)
            elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in bound:
                early.add(step.argval)
            elif step.opname in ("STORE_NAME", "STORE_GLOBAL"):
                bound.add(step.argval)

    with contextlib.suppress(SyntaxError):  # a `return` torn from its function
        follow(compiled(source))
    return early & bound


_Node = TypeVar("_Node", bound=ast.AST)
_GIVEN = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "_", "__"}


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
    used = {*undefined_names(source), *deleted} - {""}
    stars = [node for node in _all(tree, ast.ImportFrom) if node.names[0].name == "*"]
    return Names(
        used=frozenset(used) - _GIVEN,
        bound=bound,
        changed=changed - {""},
        builtin=_GIVEN & (_global_uses(symbols(source)) - bound | used),
        stars=tuple("." * node.level + (node.module or "") for node in stars),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What code does with a name that it takes for known."""

    #: Whether it is called as it stands, with nothing before a dot.
    called: bool = False
    #: What is asked of it after a dot.
    attributes: frozenset[str] = frozenset()


def uses_in(*sources: str) -> Mapping[str, Use]:
    """Return what some code does with each name that it calls or asks something of.

    Raises:
        SyntaxError: one of the sources is not Python.
    """
    called: set[str] = set()
    asked: dict[str, set[str]] = {}
    for node in chain.from_iterable(ast.walk(parse(source)) for source in sources):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            asked.setdefault(node.value.id, set()).add(node.attr)
    return {
        name: Use(called=name in called, attributes=frozenset(asked.get(name, ())))
        for name in {*called, *asked}
    }


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
        if source.startswith(IMPORTS)
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
