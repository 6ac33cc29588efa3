"""Which names a piece of Python reads, binds and changes, and which it takes for known."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_brt.pysource.parse import IMPORTS, Function, parse

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__annotations__"}
#: Names that the prompt of Python gives to the last result.
_RESULTS = frozenset({"_", "__"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: Fields with a name that the node binds.
_NAMED = {"ExceptHandler": "name", "MatchAs": "name", "MatchStar": "name", "MatchMapping": "rest"}
#: Fields in the order in which they are run: a value, then the target that it is bound to.
_ORDER = {"generators": 0, "iter": 0, "value": 0, "annotation": 0, "target": 1, "targets": 1}


class _Uses(NamedTuple):
    """The names that code reads before it binds them, that it reads once called, and binds."""

    read: set[str]
    later: set[str]
    bound: set[str]


def _uses(node: ast.AST) -> _Uses:
    """Return what a piece of code does with names of the scope that it stands in."""
    uses, inside = _Uses(set(), set(), set()), _Uses(set(), set(), set())
    is_function = isinstance(node, Function | ast.Lambda)
    if isinstance(node, ast.Name):
        (uses.bound if isinstance(node.ctx, ast.Store) else uses.read).add(node.id)
    elif isinstance(node, ast.alias):
        uses.bound.add(node.asname or node.name.partition(".")[0])
    elif name := getattr(node, _NAMED.get(type(node).__name__, ""), None):
        uses.bound.add(name)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        uses.read.add(node.target.id)
    for field, value in sorted(ast.iter_fields(node), key=lambda item: _ORDER.get(item[0], 2)):
        into = inside if is_function and field == "body" else uses
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                part = _uses(child)
                into.read.update(part.read - into.bound)
                into.later.update(part.later)
                into.bound.update(part.bound)
    if isinstance(node, Function | ast.Lambda):
        own = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        later = uses.later | ((inside.read | inside.later) - inside.bound - own)
        return _Uses(uses.read, later, {node.name} if isinstance(node, Function) else set())
    if isinstance(node, _COMPREHENSIONS):
        return _Uses(uses.read, uses.later - uses.bound, set())
    return uses._replace(bound={node.name}) if isinstance(node, ast.ClassDef) else uses


def _flow(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a module reads without having bound them, and those that it binds."""
    tree = parse(source)
    uses = _uses(tree)
    in_functions = (node.names for node in ast.walk(tree) if isinstance(node, ast.Global))
    given = frozenset[str]().union(*in_functions)
    bound = given.union(uses.bound) - {"*"}
    return (frozenset(uses.read) - given) | (uses.later - bound), bound


def undefined_names(source: str) -> tuple[str, ...]:
    """Return the names that `source` reads without having bound them, sorted.

    With a star import in it, some of them may come from there.

    Raises:
        SyntaxError: `source` is not a module.
    """
    return tuple(sorted(_flow(source)[0] - _BUILTINS))


def bound_names(source: str) -> frozenset[str]:
    """Return the names that the module `source` binds at its top level, star imports left out.

    Raises:
        SyntaxError: `source` is not a module.
    """
    return _flow(source)[1]


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
    """Return the names of a statement.

    Raises:
        SyntaxError: `source` is not a module.
    """
    tree = parse(source)
    undefined, bound = _flow(source)
    given = _BUILTINS | _RESULTS
    return Names(
        used=undefined - given,
        bound=bound,
        changed=frozenset(_changed(tree)) - {""},
        builtin=given & undefined,
        stars=tuple(
            "." * node.level + (node.module or "")
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        ),
    )


def _changed(tree: ast.Module) -> Iterator[str]:
    """Yield the names whose objects may be changed: parts set, methods called, given away."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            yield _root(part)
        elif isinstance(part, ast.AugAssign):
            yield _root(part.target)
        elif isinstance(part, ast.Delete):
            yield from map(_root, part.targets)
        elif isinstance(part, ast.Expr):
            for call in ast.walk(part):
                if isinstance(call, ast.Call):
                    if isinstance(call.func, ast.Attribute):
                        yield _root(call.func)
                    yield from (node.id for node in call.args if isinstance(node, ast.Name))


def _root(node: ast.AST) -> str:
    """Return the name that an attribute, subscript or call chain starts from, or ""."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


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
    attributes: dict[str, set[str]] = {}
    for source in sources:
        for node in ast.walk(parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called.add(node.func.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                attributes.setdefault(node.value.id, set()).add(node.attr)
    return {
        name: Use(called=name in called, attributes=frozenset(attributes.get(name, ())))
        for name in {*called, *attributes}
    }


def needed(sources: Sequence[str], last: int, wanted: frozenset[str] | None = None) -> list[int]:
    """Return the indices of the statements before `last` that its names depend on, in order.

    `wanted` are further names the result must provide. An assignment is followed only
    backwards; a call on an object, or an assignment to a part of it, belongs to the object.
    """
    every = [names_of(source) for source in sources[: last + 1]]
    need = every[last].used | every[last].builtin | (wanted or frozenset())
    imported: set[str] = set()
    for source, names in zip(sources, every, strict=False):
        if source.startswith(IMPORTS):
            imported |= names.bound
    chosen: list[int] = []
    for index in range(last - 1, -1, -1):
        names = every[index]
        binds = names.bound & need
        changes = (names.changed - names.bound - imported) & need
        if binds or changes:
            chosen.append(index)
            reads = names.used | names.builtin
            need = (need - (binds - reads)) | reads
    return sorted(chosen)
