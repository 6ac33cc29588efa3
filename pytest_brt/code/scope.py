"""Which names a piece of Python uses, binds and changes, and which are bound nowhere before."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pytest_brt.syntax import bodies, bound_targets, parse, symbols

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__annotations__"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UndefinedName:
    """A name that has no value when it is first used."""

    name: str
    #: 1-based line of its first use.
    line: int


def undefined_names(source: str) -> tuple[UndefinedName, ...]:
    """Return the names that `source` uses without having bound them, in order of first use.

    Scopes are those of the compiler (`symtable`): comprehensions, classes, ``global``, walrus.
    Statements of the module that use a name before binding it (``x = x + 1`` first of all) count
    too. With a star import in it, some of them may come from there.

    Raises:
        SyntaxError: `source` is not a module.
    """
    tree = parse(source)
    table = symbols(source)
    bound = _bound_globally(table)
    missing = _global_uses(table) - bound - _BUILTINS
    names = missing | (_early(tree.body) - _BUILTINS)
    lines = _first_uses(tree)
    found = [UndefinedName(name=name, line=lines.get(name, 1)) for name in names]
    return tuple(sorted(found, key=lambda item: (item.line, item.name)))


def bound_names(source: str) -> frozenset[str]:
    """Return the names that the module `source` binds at its top level, star imports left out.

    Raises:
        SyntaxError: `source` is not a module.
    """
    return frozenset(_bound_globally(symbols(source)))


def _bound_globally(table: symtable.SymbolTable) -> set[str]:
    """Return what module `table` binds, by itself or by a ``global`` statement further in."""
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    for inner in _descendants(table):
        bound.update(
            s.get_name()
            for s in inner.get_symbols()
            if s.is_declared_global() and (s.is_assigned() or s.is_imported())
        )
    return bound


def _descendants(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _descendants(child)


def _global_uses(table: symtable.SymbolTable) -> set[str]:
    used = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    for inner in _descendants(table):
        used.update(
            s.get_name() for s in inner.get_symbols() if s.is_referenced() and s.is_global()
        )
    return used


def _first_uses(tree: ast.Module) -> dict[str, int]:
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            lines[node.id] = min(node.lineno, lines.get(node.id, node.lineno))
    return lines


def _early(body: Sequence[ast.stmt]) -> set[str]:
    ever = set(_all_bound(body))
    bound: set[str] = set()
    early: set[str] = set()

    def visit(statements: Sequence[ast.stmt]) -> None:
        for node in statements:
            early.update((_loads(node) & ever) - bound)
            bound.update(_binds(node))
            for block in _blocks(node):
                visit(block)

    visit(body)
    return early


def _all_bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        yield from _binds(node)
        for block in _blocks(node):
            yield from _all_bound(block)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from bodies(node)


def _binds(node: ast.stmt) -> set[str]:
    """Return what the statement itself binds, its blocks left out."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {a.asname or a.name.partition(".")[0] for a in node.names}
    names = set(bound_targets(node))
    for part in _own_expressions(node):
        names.update(n.target.id for n in ast.walk(part) if isinstance(n, ast.NamedExpr))
    for handler in getattr(node, "handlers", ()):
        if handler.name:
            names.add(handler.name)
    for case in getattr(node, "cases", ()):
        names.update(
            inner.name
            for inner in ast.walk(case.pattern)
            if isinstance(inner, ast.MatchAs | ast.MatchStar) and inner.name
        )
    return names


def _own_expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions that are evaluated when `node` starts, not those of its blocks."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from node.decorator_list
        yield from node.args.defaults
        yield from (d for d in node.args.kw_defaults if d)
        return
    if isinstance(node, ast.ClassDef):
        yield from [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr


def _loads(node: ast.stmt) -> set[str]:
    found: set[str] = set()
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.add(node.target.id)
    for part in _own_expressions(node):
        found |= _loaded(part)
    return found


def _loaded(node: ast.AST) -> set[str]:
    """Return the names read when the expression is evaluated; functions in it run later."""
    if isinstance(node, ast.Lambda):
        defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        return {name for default in defaults for name in _loaded(default)}
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    found = {name for child in ast.iter_child_nodes(node) for name in _loaded(child)}
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        for generator in node.generators:
            found -= {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
    if isinstance(node, ast.NamedExpr):
        found.discard(node.target.id)
    return found


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
    used = {missing.name for missing in undefined_names(source)} | (deleted - {""})
    stars = [node for node in _all(tree, ast.ImportFrom) if node.names[0].name == "*"]
    return Names(
        used=frozenset(used) - _GIVEN,
        bound=bound,
        changed=changed - {""},
        builtin=_GIVEN & (_global_uses(symbols(source)) - bound | used),
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
