"""What the names of a test stand for, so that expressions of two tests can be compared."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from copy import deepcopy

from pytest_brt.code.file_facts import imported
from pytest_brt.codec import content_id
from pytest_brt.syntax.names import names_of
from pytest_brt.syntax.parse import Function, is_constant

#: Says whether a dotted name is that of a module of the project.
IsModule = Callable[[str], bool]
#: Characters of a value that is written out where its name is used; a longer one is a hash there.
_LONGEST = 2000
_BUILTIN = frozenset(dir(builtins))


def written(node: ast.AST) -> str:
    """Return the source of a tree, or the tree itself where Python cannot write it down.

    So it is with texts in f-strings, before 3.12.
    """
    try:
        return ast.unparse(node)
    except ValueError:
        return ast.dump(node)


class Bindings:
    """The names of a test, as far as its statements were taken, in their order.

    A variable stands for its value, with all that was done to it since; an import for what it
    imports, as in "pkg:Thing.walk", wherever in the package that is imported from. Any other name
    is a hole, as in "‹tmp_path›": what it stands for cannot be known from the text.
    """

    def __init__(self, is_module: IsModule) -> None:
        self._is_module = is_module
        self._values: dict[str, ast.expr] = {}
        #: What each name imports, dotted.
        self._imports: dict[str, str] = {}
        #: The package of the last star import; "" for none.
        self._star = ""
        self._modules: set[str] = set()
        #: Statements that change nothing that has a name: what they do may matter to all.
        self.done: list[str] = []

    def take(self, statement: ast.stmt) -> None:
        """Let a statement bind and change its names."""
        if is_constant(statement):
            return
        if isinstance(statement, ast.Import | ast.ImportFrom):
            self._take_import(statement)
            return
        if isinstance(statement, Function | ast.ClassDef):
            self._bind(statement.name, _name(f"⟨{content_id(written(statement))}⟩"))
            return
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = self.resolved(statement.value)
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    self._bind(target.id, value)
            return
        done = written(self.resolved(statement))
        try:
            names = names_of(written(statement))
        except SyntaxError:  # a ``return``, which stands in no function of its own here
            self.done.append(done)
            return
        concerned = names.bound | (names.changed - self._imports.keys())
        for name in concerned:
            before = written(self._values[name]) if name in self._values else name
            self._bind(name, _name(f"⟨{before}; {done}⟩"))
        if not concerned:
            self.done.append(done)

    def bind(self, name: str, value: ast.expr) -> None:
        """Let a name stand for an expression of its own."""
        self._bind(name, self.resolved(value))

    def text(self, node: ast.AST) -> str:
        """Return an expression with what its names stand for."""
        return written(self.resolved(node))

    def resolved(self, node: ast.AST) -> ast.expr:
        """Return the tree of an expression, or of a statement, with what its names stand for."""
        inner = frozenset(_bound_inside(node))
        found: ast.expr = _Resolved(self, inner).visit(deepcopy(node))
        return found

    def _bind(self, name: str, value: ast.expr) -> None:
        text = written(value)
        if len(text) > _LONGEST:
            value = _name(f"⟨{content_id(text)}⟩")
        self._values[name] = value

    def _take_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for item in imported(statement):
            if not item.module.startswith("."):
                self._modules.add(item.module)
            if item.name == "*":
                self._star = item.module.partition(".")[0]
            elif item.name:
                self._imports[item.bound] = f"{item.module}.{item.name}"
            else:
                top = item.module.partition(".")[0]
                self._imports[item.bound] = top if item.bound == top else item.module

    def standing_for(self, name: str) -> ast.expr:
        """Return what a name stands for."""
        if name in self._values:
            return deepcopy(self._values[name])
        if name in self._imports:
            return _name(self._shortened(self._imports[name]))
        if name in _BUILTIN:
            return _name(name)
        return _name(f"{self._star}:{name}" if self._star else f"‹{name}›")

    def imported_chain(self, node: ast.expr) -> str:
        """Return what names with dots import, "" where they are none that begins with an import."""
        text = written(node)
        first, _, rest = text.partition(".")
        if first not in self._imports or first in self._values:
            return ""
        return self._shortened(f"{self._imports[first]}.{rest}")

    def _shortened(self, dotted: str) -> str:
        """Return a dotted name as its package and what it is called inside its module.

        The same object is often imported from where it is defined and from its package.
        """
        parts = dotted.split(".")
        inside = 1
        while inside < len(parts) and self._is_known(".".join(parts[: inside + 1])):
            inside += 1
        return f"{parts[0]}:{'.'.join(parts[inside:])}"

    def _is_known(self, dotted: str) -> bool:
        is_above = any(f"{module}.".startswith(f"{dotted}.") for module in self._modules)
        return is_above or self._is_module(dotted)


class _Resolved(ast.NodeTransformer):
    """Puts what names stand for in their place; those bound `inside` of it stay."""

    def __init__(self, bindings: Bindings, inside: frozenset[str]) -> None:
        self._bindings = bindings
        self._inside = inside

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_bound = node.id in self._inside or not isinstance(node.ctx, ast.Load)
        return node if is_bound else self._bindings.standing_for(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if _is_chain(node) and (chain := self._bindings.imported_chain(node)):
            return _name(chain)
        return self.generic_visit(node)


def _name(text: str) -> ast.Name:
    return ast.Name(id=text, ctx=ast.Load())


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _bound_inside(node: ast.AST) -> Iterator[str]:
    """Yield the names that lambdas and comprehensions of an expression bind for themselves."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Lambda):
            yield from (argument.arg for argument in inner.args.args)
        elif isinstance(inner, ast.comprehension):
            for target in ast.walk(inner.target):
                if isinstance(target, ast.Name):
                    yield target.id
