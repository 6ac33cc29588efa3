"""What a test asks for: of the project at all, or just what the report complains about."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Iterator

from pytest_brt.reading.compare import Likeness, likeness
from pytest_brt.syntax import parse

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_BUILTINS = frozenset(dir(builtins))


def is_about_python(source: str, line: int) -> bool:
    r"""Say whether the statement at `line` speaks of nothing but Python and its library.

    Followed are the names in it: to what binds them in the test, and in the module. What a test is
    given as an argument, and whatever is imported from elsewhere, may be the project's.

    >>> is_about_python("def test_a():\n    x = max(2, 3)\n    assert x == 2\n", 3)
    True
    >>> is_about_python("from pkg import f\n\ndef test_a():\n    assert f(2) == 2\n", 4)
    False
    """
    try:
        tree = parse(source)
    except SyntaxError:
        return False
    failing = _at(tree, line)
    if failing is None:
        return False
    bindings = _bindings(tree)
    waiting, known = list(_names(failing)), set[str]()
    while waiting:
        name = waiting.pop()
        if name in known or name in _BUILTINS - bindings.keys():
            continue
        known.add(name)
        for node in bindings.get(name, [None]):
            if node is None or isinstance(node, ast.arg):
                return False
            if isinstance(node, ast.Import | ast.ImportFrom):
                if not _is_standard(node, name):
                    return False
            else:
                waiting += _names(node)
    return True


def _at(tree: ast.Module, line: int) -> ast.stmt | None:
    """Return the innermost statement at a line; of a block that is its head too."""
    found: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            smaller = found is None or node.lineno > found.lineno
            found = node if smaller and not isinstance(node, _Function | ast.ClassDef) else found
    return found


def _names(node: ast.AST) -> set[str]:
    return {
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    }


def _bindings(tree: ast.Module) -> dict[str, list[ast.AST | None]]:
    """Return what binds each name, anywhere in the module; None for what cannot be followed."""
    found: dict[str, list[ast.AST | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found.setdefault(name, []).append(None if alias.name == "*" else node)
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, []).append(node)
        elif isinstance(node, _Function | ast.ClassDef):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.stmt):
            for inner in _stored(node):
                found.setdefault(inner, []).append(node)
            for changed in _changed(node):
                found.setdefault(changed, []).append(node)
    return found


def _stored(node: ast.stmt) -> set[str]:
    """Return the names that a statement itself binds: those of its blocks are theirs."""
    parts = (part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt))
    return {
        inner.id
        for part in parts
        for inner in ast.walk(part)
        if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load)
    }


def _changed(node: ast.stmt) -> set[str]:
    """Return the names whose objects a statement may change: `x.append(y)`, `x[0] = y`, `f(x)`."""
    if not isinstance(node, ast.Expr | ast.Assign | ast.AugAssign):
        return set()
    return _names(node)


def _is_standard(node: ast.Import | ast.ImportFrom, name: str) -> bool:
    """Say whether an import takes `name` from Python's library, or from pytest."""
    if isinstance(node, ast.ImportFrom):
        module = node.module or "" if not node.level else ""
    else:
        bound = (a for a in node.names if (a.asname or a.name.partition(".")[0]) == name)
        module = next(bound).name
    # In a process of its own the project may run.
    standard = {*sys.stdlib_module_names, "pytest"} - {"subprocess", "runpy", "importlib"}
    return module.partition(".")[0] in standard


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
