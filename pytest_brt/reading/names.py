"""Which names a statement uses, binds and changes; and what a test needs to stand alone."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.syntax import parse

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
    reader = _Reader()
    for node in tree.body:
        reader.visit(node)
    return Names(
        used=frozenset(reader.used) - _BUILTINS,
        bound=frozenset(reader.bound),
        changed=frozenset(reader.changed),
        builtin=frozenset(reader.used) & _BUILTINS,
        stars=tuple(reader.stars),
    )


class _Reader(ast.NodeVisitor):
    """Walks one statement; scopes inside it (functions, comprehensions) keep their own names."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.bound: set[str] = set()
        self.changed: set[str] = set()
        self.stars: list[str] = []
        self._inner: list[set[str]] = []

    def _is_inner(self, name: str) -> bool:
        return any(name in scope for scope in self._inner)

    def visit_Name(self, node: ast.Name) -> None:
        if self._is_inner(node.id):
            return
        if isinstance(node.ctx, ast.Load):
            if node.id not in self.bound:
                self.used.add(node.id)
        else:
            self.bound.add(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._target(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        root = _root(node.target)
        if root:
            self.used.add(root)
            self.changed.add(root)
        self._target(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value:
            self.visit(node.value)
        self._target(node.target)

    def _target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Attribute | ast.Subscript):
            root = _root(target)
            if root:
                self.changed.add(root)
            for child in ast.iter_child_nodes(target):
                self.visit(child)
        elif isinstance(target, ast.Tuple | ast.List):
            for item in target.elts:
                self._target(item)
        elif isinstance(target, ast.Starred):
            self._target(target.value)
        else:
            self.visit(target)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            root = _root(target)
            if root:
                self.used.add(root)
                self.changed.add(root)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.visit(node.value)
        for call in ast.walk(node.value):
            if isinstance(call, ast.Call):
                if isinstance(call.func, ast.Attribute) and (root := _root(call.func)):
                    self.changed.add(root)
                for argument in call.args:
                    if isinstance(argument, ast.Name):
                        self.changed.add(argument.id)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._target(node.target)
        for child in [*node.body, *node.orelse]:
            self.visit(child)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bound.add(node.rest)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.bound.add(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.stars.append("." * node.level + (node.module or ""))
            else:
                self.bound.add(alias.asname or alias.name)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for outer in [*node.decorator_list, *node.args.defaults]:
            self.visit(outer)
        for default in node.args.kw_defaults:
            if default:
                self.visit(default)
        self.bound.add(node.name)
        self._scoped([node.args], node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for outer in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(outer)
        self._scoped([], node.body)
        self.bound.add(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in node.args.defaults:
            self.visit(default)
        self._scoped([node.args], [node.body])

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node.generators, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node.generators, [node.elt])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node.generators, [node.elt])

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node.generators, [node.key, node.value])

    def _comprehension(self, generators: list[ast.comprehension], parts: list[ast.expr]) -> None:
        scope: set[str] = set()
        self._inner.append(scope)
        for generator in generators:
            self.visit(generator.iter)
            scope.update(_stored(generator.target))
            for condition in generator.ifs:
                self.visit(condition)
        for part in parts:
            self.visit(part)
        self._inner.pop()

    def _scoped(self, arguments: list[ast.arguments], body: Sequence[ast.AST]) -> None:
        scope: set[str] = set()
        for group in arguments:
            every = [*group.posonlyargs, *group.args, *group.kwonlyargs]
            every += [extra for extra in (group.vararg, group.kwarg) if extra]
            scope.update(argument.arg for argument in every)
        for node in body:
            scope.update(_stored(node))
        self._inner.append(scope)
        outer_bound = set(self.bound)
        for node in body:
            self.visit(node)
        self._inner.pop()
        self.bound = outer_bound


def _stored(node: ast.AST) -> set[str]:
    """Return the names bound anywhere below `node`."""
    found: set[str] = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load):
            found.add(child.id)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(child.name)
        elif isinstance(child, ast.alias) and child.name != "*":
            found.add(child.asname or child.name.split(".")[0])
        elif isinstance(child, ast.ExceptHandler) and child.name:
            found.add(child.name)
    return found


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
