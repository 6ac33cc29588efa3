"""Renames the local variables of functions in a syntax tree to numbered ones.

Kept as they are: what others can see or name (parameters of ``def``, functions, classes,
attributes, module-level names), and everything in a function that looks at its own names
(``locals()``, ``eval``, …).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_LOOKS_AT_NAMES = frozenset({"locals", "vars", "eval", "exec", "dir", "globals"})


def rename_locals(tree: ast.Module, *, module_too: bool = False) -> None:
    """Rename the local variables in `tree`, in place, by the order in which they appear.

    Two trees that differ only in those names become equal; different meanings stay different.

    Args:
        tree: the module.
        module_too: rename the module's own variables as well (a test that stands alone).
    """
    renamer = _Renamer(tree)
    names: dict[str, str] = {}
    if module_too and not _looks_at_names(tree):
        names = renamer.fresh(
            name for name in _bound_in(tree.body) if not name.startswith(("__", "pytest"))
        )
    for node in tree.body:
        renamer.visit(node, names)


class _Renamer:
    """Walks a tree with the names that are in force; numbers go on through the whole module."""

    def __init__(self, tree: ast.Module) -> None:
        local = _names_of_all_scopes(tree)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        used |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        # A name that is not ours to change must not meet a new one.
        self._avoid = {name for name in used - local if re.fullmatch(r"v\d+", name)}
        self._next = 0

    def fresh(self, names: Iterator[str] | list[str]) -> dict[str, str]:
        """Return new names for `names`, in their order."""
        given: dict[str, str] = {}
        for name in names:
            if name in given:
                continue
            while f"v{self._next}" in self._avoid:
                self._next += 1
            given[name] = f"v{self._next}"
            self._next += 1
        return given

    def visit(self, node: ast.AST, names: Mapping[str, str]) -> None:
        """Rename what is in `node`, where `names` are in force."""
        if isinstance(node, _Function):
            self._function(node, names)
        elif isinstance(node, ast.Lambda):
            self._lambda(node, names)
        elif isinstance(node, _Comprehension):
            self._comprehension(node, names)
        elif isinstance(node, ast.ClassDef):
            self._class(node, names)
        else:
            self._leaf(node, names)
            for child in ast.iter_child_nodes(node):
                self.visit(child, names)

    def _leaf(self, node: ast.AST, names: Mapping[str, str]) -> None:
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            node.name = names.get(node.name, node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            node.rest = names.get(node.rest, node.rest)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [names.get(name, name) for name in node.names]

    def _function(self, node: _Function, names: Mapping[str, str]) -> None:
        for part in [*node.decorator_list, *_defaults(node.args), *_annotations(node)]:
            self.visit(part, names)
        inner = {k: v for k, v in names.items() if k not in _fixed_in(node)}
        if not _looks_at_names(node):
            inner.update(self.fresh(n for n in _bound_in(node.body) if n not in _fixed_in(node)))
        else:
            inner = {k: v for k, v in inner.items() if k not in set(_bound_in(node.body))}
        for statement in node.body:
            self.visit(statement, inner)

    def _lambda(self, node: ast.Lambda, names: Mapping[str, str]) -> None:
        for part in _defaults(node.args):
            self.visit(part, names)
        arguments = list(_arguments(node.args))
        inner = {**names, **self.fresh([argument.arg for argument in arguments])}
        for argument in arguments:
            argument.arg = inner[argument.arg]
        self.visit(node.body, inner)

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp,
        names: Mapping[str, str],
    ) -> None:
        self.visit(node.generators[0].iter, names)
        targets = [
            name.id
            for generator in node.generators
            for name in ast.walk(generator.target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        ]
        inner = {**names, **self.fresh(targets)}
        for number, generator in enumerate(node.generators):
            self.visit(generator.target, inner)
            if number:
                self.visit(generator.iter, inner)
            for condition in generator.ifs:
                self.visit(condition, inner)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            self.visit(part, inner)

    def _class(self, node: ast.ClassDef, names: Mapping[str, str]) -> None:
        for part in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(part, names)
        # What a class body binds are attributes; its methods do not see them as names.
        own = set(_bound_in(node.body))
        for statement in node.body:
            inside = isinstance(statement, _Function)
            visible = names if inside else {k: v for k, v in names.items() if k not in own}
            self.visit(statement, visible)


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from [*arguments.posonlyargs, *arguments.args]
    if arguments.vararg:
        yield arguments.vararg
    yield from arguments.kwonlyargs
    if arguments.kwarg:
        yield arguments.kwarg


def _defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    yield from arguments.defaults
    yield from (default for default in arguments.kw_defaults if default)


def _annotations(node: _Function) -> Iterator[ast.expr]:
    yield from (a.annotation for a in _arguments(node.args) if a.annotation)
    if node.returns:
        yield node.returns


def _fixed_in(node: _Function) -> set[str]:
    """Return the names that `node` has and that are not renamed.

    Those are its parameters, ``global`` names, and what it imports or defines.
    """
    fixed = {argument.arg for argument in _arguments(node.args)}
    for inner in _same_scope(node.body):
        if isinstance(inner, ast.Global):
            fixed.update(inner.names)
        elif isinstance(inner, _Function | ast.ClassDef):
            fixed.add(inner.name)
        elif isinstance(inner, ast.Import | ast.ImportFrom):
            fixed.update(a.asname or a.name.partition(".")[0] for a in inner.names)
    return fixed


def _bound_in(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the variables that the scope with this `body` binds, in order of appearance."""
    hidden: set[str] = set()
    found: list[str] = []
    for node in _same_scope(body):
        if isinstance(node, ast.Global | ast.Nonlocal):
            hidden.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.append(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.append(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.append(node.rest)
        elif isinstance(node, _Function | ast.ClassDef):
            hidden.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            hidden.update(a.asname or a.name.partition(".")[0] for a in node.names)
    return (name for name in dict.fromkeys(found) if name not in hidden)


def _same_scope(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of one scope, in the order of the text."""

    def walk(node: ast.AST) -> Iterator[ast.AST]:
        yield node
        if isinstance(node, _Function):
            outside: list[ast.AST] = [*node.decorator_list, *_defaults(node.args)]
        elif isinstance(node, ast.ClassDef):
            outside = [*node.decorator_list, *node.bases, *node.keywords]
        elif isinstance(node, ast.Lambda):
            outside = list(_defaults(node.args))
        elif isinstance(node, _Comprehension):
            # ":=" in a comprehension binds in the scope around it.
            outside = [n.target for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
            outside.append(node.generators[0].iter)
        else:
            outside = list(ast.iter_child_nodes(node))
        for child in outside:
            yield from walk(child)

    for statement in body:
        yield from walk(statement)


def _names_of_all_scopes(tree: ast.Module) -> set[str]:
    """Return the names that some scope may have renamed."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            found.update(_bound_in(node.body))
        elif isinstance(node, ast.Lambda):
            found.update(argument.arg for argument in _arguments(node.args))
        elif isinstance(node, ast.comprehension):
            found.update(n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))
    found.update(_bound_in(tree.body))
    return found


def _looks_at_names(node: ast.AST) -> bool:
    return any(
        isinstance(inner, ast.Call)
        and isinstance(inner.func, ast.Name)
        and inner.func.id in _LOOKS_AT_NAMES
        for inner in ast.walk(node)
    )
