"""Whether a test pins the bug: it demands what the report complains about.

Such a test passes on the buggy tree, or fails there for another reason, and every right fix
breaks it. It is refused, whoever wrote it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from pytest_brt.reading.compare import Likeness, likeness
from pytest_brt.syntax import parse


def pinned(source: str, wrong: Collection[str], raised: Collection[str]) -> str:
    """Return what of the reported wrong behaviour the test demands, "" when nothing.

    Args:
        source: a test module that parses.
        wrong: values that the report complains about, as it writes them.
        raised: simple names of the exceptions that it complains about.
    """
    tree = parse(source)
    for text in _demanded(tree):
        for value in wrong:
            if likeness(value, text) >= Likeness.SQUEEZED:
                return f"asserts the value that the report calls wrong: {text[:80]}"
    for name in _wanted_exceptions(tree):
        if name in raised:
            return f"asserts the exception that the report calls wrong: {name}"
    return ""


def _demanded(tree: ast.Module) -> Iterator[str]:
    """Yield the values that assertions of `tree` compare with by == and `is`."""
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


def _wanted_exceptions(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in ("raises", "assertRaises"):
            for argument in node.args[:1]:
                parts = argument.elts if isinstance(argument, ast.Tuple) else [argument]
                yield from (_name(part) for part in parts)


def _name(node: ast.expr) -> str:
    return ast.unparse(node).rsplit(".", 1)[-1]
