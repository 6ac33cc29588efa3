"""The calls that bug tests make, and variations of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import islice

from pytest_brt.pysource.parse import Function, is_constant, is_test_class, parse_or_empty
from pytest_brt.types import CandidateTest

_DISPLAYS = (ast.List, ast.Tuple, ast.Set)
#: The fixture of tests that look at what is printed.
_PRINTED = "capsys"
#: Variations of one literal, and of a call.
_EACH, _MOST = 12, 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An expression, or a statement that prints, with the statements that must run before it."""

    setup: tuple[str, ...]
    expression: str
    #: What it prints counts, and not its value.
    prints: bool = False

    @property
    def statements(self) -> tuple[str, ...]:
        """All of it, in order."""
        return (*self.setup, self.expression)

    @property
    def size(self) -> int:
        """How much there is to read."""
        return sum(map(len, self.statements))


def call_of(test: CandidateTest) -> Call | None:
    """Return what a test asks about: its set-up, and the expression that its last line looks at.

    None for methods, for tests with fixtures or marks, and for those that end in something else.
    """
    tree = parse_or_empty(test.source or "")
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    function = next((node for node in functions if node.name == test.name), None)
    if function is None or function.decorator_list:
        return None
    fixtures = ast.unparse(function.args)
    body = [node for node in function.body if not is_constant(node)]
    prints = fixtures == _PRINTED
    if prints:
        # What looks at the output is left out, and so is what throws some of it away.
        body = [node for node in body if _PRINTED not in ast.unparse(node)]
    elif fixtures:
        return None
    asked = _asked(body[-1], whole=prints) if body else None
    if asked is None:
        return None
    setup = [node for node in tree.body if not _is_test(node)] + body[:-1]
    return Call(setup=tuple(map(ast.unparse, setup)), expression=ast.unparse(asked), prints=prints)


def _is_test(node: ast.stmt) -> bool:
    """Say whether a statement is a test, or a class of tests: nothing that others build on."""
    if isinstance(node, ast.ClassDef):
        return is_test_class(node)
    return isinstance(node, Function) and node.name.startswith("test")


def _asked(node: ast.stmt, *, whole: bool) -> ast.stmt | ast.expr | None:
    """Return what a statement looks at: an expression that it compares or runs, or itself."""
    if whole:
        return node
    if isinstance(node, ast.Assert):
        return node.test.left if isinstance(node.test, ast.Compare) else node.test
    if isinstance(node, ast.With | ast.Try):
        return _asked(node.body[-1], whole=whole)
    return node.value if isinstance(node, ast.Expr) else None


def variations(call: Call) -> tuple[Call, ...]:
    """Return a call, then those in which one literal has a value near its own, small ones first."""
    calls = {call.statements: call}
    for number, statement in enumerate(call.statements):
        for text in _with_one_changed(statement):
            statements = [*call.statements]
            statements[number] = text
            one = replace(call, setup=tuple(statements[:-1]), expression=statements[-1])
            calls.setdefault(one.statements, one)
    first, *others = calls.values()
    others.sort(key=lambda one: (one.size, one.statements))
    return (first, *others[:_MOST])


def _with_one_changed(statement: str) -> Iterator[str]:
    """Yield a statement with one of its literals changed."""
    tree = parse_or_empty(statement)
    if any(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body):
        return
    for place, node in enumerate(ast.walk(tree)):
        for other in islice(_near(node), _EACH):
            copied = deepcopy(tree)
            yield ast.unparse(_Replacing(list(ast.walk(copied))[place], other).visit(copied))


class _Replacing(ast.NodeTransformer):
    """Puts a node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """Return what is to stand in the place of a node."""
        if node is self.old:
            return self.new
        changed: ast.AST = self.generic_visit(node)
        return changed


def _near(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what may stand in the place of a literal."""
    if isinstance(node, ast.Constant):
        for value in _values_near(node.value):
            if value != node.value or type(value) is not type(node.value):
                yield ast.Constant(value)
    elif isinstance(node, _DISPLAYS) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        for place in range(len(node.elts)):
            fewer = [element for at, element in enumerate(node.elts) if at != place]
            if fewer or not isinstance(node, ast.Set):
                other = deepcopy(node)
                other.elts = fewer
                yield other


def _values_near(value: object) -> list[bool | int | float | str | bytes | None]:
    """Return values of the type of a literal that a program may take for another case."""
    if value is None or isinstance(value, bool):
        return [True, False, None]
    if isinstance(value, int):
        return [0, 1, -1, value + 1, value - 1, -value, 2 * value, 10 * value]
    if isinstance(value, float):
        return [0.0, -value, value / 2, value * 10, float(round(value))]
    if isinstance(value, bytes):
        return [b"", value[:-1], value[1:], value * 2]
    return _texts_near(value) if isinstance(value, str) else []


def _texts_near(text: str) -> list[bool | int | float | str | bytes | None]:
    """Return texts made of one: without a part of it, doubled, in other letters, empty."""
    words = text.split(" ")
    fewer = [" ".join(words[:at] + words[at + 1 :]) for at in range(len(words))]
    middle = len(text) // 2
    shorter = [text[1:], text[:-1], text[:middle] + text[middle + 1 :]]
    return ["", *shorter, *fewer[:4], text * 2, text.upper(), text.lower(), f" {text}", text[::-1]]
