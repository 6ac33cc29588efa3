"""A result and what it is compared with → the lines of a test that compare them."""

from __future__ import annotations

import ast

from pytest_brt.observe.display import Display, Form
from pytest_brt.oracle.write import literal
from pytest_brt.syntax import parse

#: Types of what is compared by identity; "" is not known.
_SINGLETONS = frozenset({"", "bool", "NoneType"})


def assertion(display: Display, other: str, *, differs: bool) -> tuple[tuple[str, ...], bool]:
    """Return the lines that compare a result with the text or value `other`.

    Args:
        display: the result.
        other: for evaluable values Python source; else the text itself.
        differs: claim that they differ instead of that they agree.

    Returns:
        The lines, and whether they need the fixture `capsys`.
    """
    same = "!=" if differs else "=="
    expression = _grouped(display.expression)
    if display.form is Form.VALUE and display.evaluable:
        if other.strip() in ("True", "False", "None") and display.type in _SINGLETONS:
            return (f"assert {expression} is {'not ' if differs else ''}{other.strip()}",), False
        return (f"assert {expression} {same} {_grouped(other)}",), False
    text = literal(other)
    lines: list[str] = []
    capsys = display.form is Form.STDOUT
    if "\n" in text:
        name = "reported" if differs else "expected"
        lines, text = [f"{name} = {text}"], name
    if capsys:
        return (
            *lines,
            display.expression,
            f"assert capsys.readouterr().out {same} {text}",
        ), True
    wrap = "repr" if display.form is Form.VALUE else "str"
    if display.form is Form.STR and display.type == "str":
        return (*lines, f"assert {expression} {same} {text}"), False
    return (*lines, f"assert {wrap}({display.expression}) {same} {text}"), False


def _grouped(expression: str) -> str:
    """Return `expression`, in parentheses where it would bind weaker than a comparison."""
    node = parse(expression.strip()).body[0]
    weak = (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Tuple)
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Tuple) and expression.strip().startswith("("):
            return expression
        if (
            isinstance(node.value, weak)
            or (isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, ast.Not))
            or "\n" in expression.strip()
        ):
            return f"({expression})"
    return expression
