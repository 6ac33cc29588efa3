"""Code in a sentence: whether it can be run."""

from __future__ import annotations

import ast

from pytest_brt.pysource.parse import is_literal, parse, parses

_ACTS = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare)
_LONGEST = 400


def is_runnable(text: str) -> bool:
    """Say whether code is an expression that does something, and nothing of it is left out.

    >>> is_runnable("f(1)"), is_runnable("f()"), is_runnable("f(..., 1)"), is_runnable("x")
    (True, False, False, False)
    >>> is_runnable("f --x"), is_runnable("--f-x"), is_runnable("f('a --x')")
    (False, False, True)
    """
    node = _statement(text)
    if not isinstance(node, ast.Expr) or is_literal(text):
        return False
    value = node.value
    if isinstance(value, ast.Call) and not (value.args or value.keywords):
        return False  # `f()` is how people write the name of a function
    return any(isinstance(inner, _ACTS) for inner in ast.walk(value))


def binds_call(text: str) -> bool:
    """Say whether code gives a name to what a call returns.

    >>> binds_call("x = f(1)"), binds_call("x = 1")
    (True, False)
    """
    node = _statement(text)
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)


def _statement(text: str) -> ast.stmt | None:
    """Return the one statement that a text is, None where it is none or a form of one."""
    if not text or len(text) > _LONGEST or "..." in text or not parses(text):
        return None
    body = parse(text).body
    if len(body) != 1:
        return None
    is_option = "--" in text and any(map(_is_minus_minus, ast.walk(body[0])))
    return None if is_option else body[0]


def _is_minus_minus(node: ast.AST) -> bool:
    """Say whether a node is what Python takes the option of a command for."""
    inner: ast.AST = node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        inner = node.right
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = node.operand
    return inner is not node and isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub)
