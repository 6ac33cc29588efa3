"""What a test asks for: of the project at all, or just what the report complains about."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Sequence
from copy import copy

from pytest_brt.issue.alike import Likeness, likeness
from pytest_brt.syntax.names import names_of, needed
from pytest_brt.syntax.parse import bodies, parse

_Headed = ast.With | ast.AsyncWith | ast.For | ast.AsyncFor | ast.If | ast.While


def is_about_python(source: str, line: int) -> bool:
    r"""Say whether the statement at `line` speaks of nothing but Python and its library.

    Followed are the names in it, to what binds them and may change them before it. What a test is
    given as an argument, and whatever is imported from elsewhere, may be the project's.

    >>> is_about_python("def test_a():\n    x = max(2, 3)\n    assert x == 2\n", 3)
    True
    >>> is_about_python("from pkg import f\n\ndef test_a():\n    assert f(2) == 2\n", 4)
    False
    """
    try:
        before = list(_until(parse(source).body, line))
    except SyntaxError:
        return False
    last = len(before) - 1
    if last < 0 or before[last].lineno > line:
        return False
    sources = [ast.unparse(node) for node in before]
    for at, node in enumerate(before[:last]):
        if isinstance(node, ast.Assign | ast.AugAssign):
            sources[at] += f"\n{ast.unparse(node.value)}"  # whose arguments it may change
    followed = [*needed(sources, last), last]
    names = [names_of(sources[at]) for at in followed]
    bound = frozenset[str]().union(*(one.bound for one in names))
    imports = (n for at in followed if isinstance(n := before[at], ast.Import | ast.ImportFrom))
    return not any(one.used - bound for one in names) and all(map(_is_standard, imports))


def _until(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """Yield the statements up to the one at `line`; of what that stands in the head alone."""
    for node in body:
        if node.lineno > line:
            return
        around = [b for b in bodies(node) if b[0].lineno <= line <= (b[-1].end_lineno or 0)]
        if not around:
            yield node
        elif isinstance(node, _Headed):
            head = copy(node)
            head.body = [ast.Pass()]
            yield head
        for block in around:
            yield from _until(block, line)


def _is_standard(node: ast.Import | ast.ImportFrom) -> bool:
    """Say whether an import takes all from Python's library, or from pytest."""
    if isinstance(node, ast.ImportFrom):
        modules = ["" if node.level else node.module or ""]
    else:
        modules = [alias.name for alias in node.names]
    # In a process of its own the project may run.
    standard = {*sys.stdlib_module_names, "pytest"} - {"subprocess", "runpy", "importlib"}
    return all(module.partition(".")[0] in standard for module in modules)


def pinned(source: str, wrong: Collection[str], raised: Collection[str]) -> str:
    """Return what of the reported wrong behaviour the test demands, "" when nothing.

    `wrong` are the values that the report complains about, `raised` the simple names of exceptions.
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
