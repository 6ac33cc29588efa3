"""Code in a sentence: whether it can be run."""

from __future__ import annotations

import ast

from pytest_brt.pysource.parse import is_literal, parse, parses

_ACTS = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare)
_LONGEST = 400


def is_runnable(text: str) -> bool:
    """Say whether code is an expression that does something, and nothing of it is left out.

    >>> is_runnable("f(1)"), is_runnable("f()"), is_runnable("f(..., 1)"), is_runnable("f --x")
    (True, False, False, False)
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
    is_form = "..." in text or " --" in text  # an option of a command, to Python a subtraction
    if not text or len(text) > _LONGEST or is_form or not parses(text):
        return None
    body = parse(text).body
    return body[0] if len(body) == 1 else None
