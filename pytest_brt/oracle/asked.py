"""What a test demands, and whether the report complains about just that."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from pytest_brt.issue.alike import Likeness, likeness
from pytest_brt.pysource.parse import Function, parse_or_empty
from pytest_brt.types import CandidateTest


def pinned(test: CandidateTest, wrong: Collection[str], raised: Collection[str]) -> str:
    """Return what of the reported wrong behaviour the test demands, "" when nothing.

    `wrong` are the values that the report complains about, `raised` the simple names of exceptions.
    What stands in other tests of its file is not its demand.
    """
    tree = _function_of(test)
    for text in _demanded(tree):
        for value in wrong:
            if likeness(value, text) >= Likeness.SQUEEZED:
                return f"asserts the value that the report calls wrong: {text[:80]}"
    for name in _wanted_exceptions(tree):
        if name in raised:
            return f"asserts the exception that the report calls wrong: {name}"
    return ""


def _function_of(test: CandidateTest) -> ast.AST:
    """Return the function that a test is, where its file has others; else all of the file."""
    tree = parse_or_empty(test.source or "")
    functions = (node for node in ast.walk(tree) if isinstance(node, Function))
    tests = [node for node in functions if node.name.startswith("test")]
    name = test.name.partition("[")[0].rpartition("::")[2]
    own = [node for node in tests if node.name == name]
    return own[0] if own and len(tests) > 1 else tree


def _demanded(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            for operator, right in zip(node.test.ops, node.test.comparators, strict=True):
                if isinstance(operator, ast.Eq | ast.Is):
                    yield from _texts(right)
                    yield from _texts(node.test.left)
        elif isinstance(node, ast.Call) and _name(node.func) in ("assertEqual", "assertIs"):
            for argument in node.args[:2]:
                yield from _texts(argument)


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.UnaryOp):
        yield ast.unparse(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    elif isinstance(node, ast.BinOp):
        yield ast.unparse(node)


def _wanted_exceptions(tree: ast.AST) -> Iterator[str]:
    """Yield the exceptions that are asked for, but for those that are to say something."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(word.arg == "match" for word in node.keywords):
            continue
        if _name(node.func) in ("raises", "assertRaises"):
            for argument in node.args[:1]:
                parts = argument.elts if isinstance(argument, ast.Tuple) else [argument]
                yield from (_name(part) for part in parts)


def _name(node: ast.expr) -> str:
    return ast.unparse(node).rsplit(".", 1)[-1]
