"""What a test demands: its assertions, and the one that failed."""

from __future__ import annotations

import ast

from pytest_brt.oracle.judge import failing_line
from pytest_brt.syntax.parse import Function, called_name, covers, parse
from pytest_brt.types import CandidateTest, TestRun

#: Calls of pytest with which a ``with`` statement demands an exception or a warning.
_DEMANDS = ("raises", "warns", "deprecated_call")


def claims_of(test: CandidateTest, run: TestRun) -> tuple[str, ...]:
    """Return the demands of a failing test as code, the one that failed first.

    Of a test that stops at another statement it is that this statement raises nothing.

    Raises:
        SyntaxError: the test is not Python.
    """
    tree = parse(test.source or "")
    line = failing_line(test, run)
    claims: list[str] = []
    failed = ""
    for node in ast.walk(tree):
        claim = _claim(node)
        if not claim or not isinstance(node, ast.stmt):
            continue
        if covers(node, line):
            failed = claim
        else:
            claims.append(claim)
    if not failed and line:
        failed = _raises_nothing(tree, line)
    return tuple(dict.fromkeys(filter(None, (failed, *claims))))


def first_claim(source: str) -> str:
    r"""Return the first demand that stands in a test, "" without one.

    >>> first_claim("def test_a():\\n    x = '''\\nassert 0'''\\n    assert x == 1\\n")
    'assert x == 1'
    """
    try:
        statements = [node for node in ast.walk(parse(source)) if isinstance(node, ast.stmt)]
    except SyntaxError:
        return ""
    statements.sort(key=lambda node: node.lineno)
    return next(filter(None, map(_claim, statements)), "")


def _claim(node: ast.AST) -> str:
    match node:
        case ast.Assert(test=ast.Constant()):
            return ast.unparse(node)  # its message alone says what is demanded
        case ast.Assert():
            return ast.unparse(ast.Assert(test=node.test))
        case ast.With():
            calls = [item.context_expr for item in node.items]
            if any(isinstance(c, ast.Call) and called_name(c) in _DEMANDS for c in calls):
                return ast.unparse(node)
        case ast.Expr(value=ast.Call() as call) if called_name(call).startswith("assert"):
            return ast.unparse(call)
    return ""


def _raises_nothing(tree: ast.Module, line: int) -> str:
    """Return that the innermost statement at `line` raises nothing."""
    at = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and covers(node, line)]
    plain = [node for node in at if not isinstance(node, Function | ast.ClassDef)]
    return f"{ast.unparse(plain[-1])}  # raises nothing" if plain else ""
