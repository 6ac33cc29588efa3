"""A result and what it is compared with → the lines of a test that compare them, and its texts."""

from __future__ import annotations

import ast
import re
import textwrap

from pytest_brt.edit.source_text import WIDTH
from pytest_brt.observe.results import Form, Result
from pytest_brt.oracle.draft import one_line
from pytest_brt.pysource.parse import parse_expression

#: Characters of a string that needs a line of its own, of its parts there, and of a docstring.
_LONG, _PART, _LONGEST = 60, re.compile(r".{1,65}$|.{1,65}(?<= )|.{1,65}", re.DOTALL), 400
#: What binds weaker than a comparison.
_WEAK = (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Tuple)


def comparison(result: Result, other: str, *, differs: bool) -> tuple[str, ...]:
    """Return the lines that compare a result with `other`.

    `other` is Python source where the result can be evaluated, else the text itself.
    """
    same, name = ("!=", "reported") if differs else ("==", "expected")
    expression = _grouped(result.expression)
    if result.form is Form.VALUE and result.evaluable:
        if other.strip() in ("True", "False", "None") and result.type in ("", "bool"):
            same = "is not" if differs else "is"
        return (f"assert {expression} {same} {_grouped(other)}",)
    text = literal(other)
    lines = [f"{name} = {text}"] if "\n" in text else []
    text = name if lines else text
    if result.form is Form.STDOUT:
        return (*lines, result.expression, f"assert capsys.readouterr().out {same} {text}")
    if result.form is Form.VALUE:
        expression = f"repr({result.expression})"
    elif result.type != "str":
        expression = f"str({result.expression})"
    return (*lines, f"assert {expression} {same} {text}")


def _grouped(expression: str) -> str:
    """Return `expression`, in parentheses where it would bind weaker than a comparison."""
    text = expression.strip()
    node = parse_expression(text)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(text) > _LONG:
        return literal(node.value)
    is_weak = isinstance(node, _WEAK) and not (isinstance(node, ast.Tuple) and text[0] == "(")
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return f"({expression})" if is_weak or is_not or "\n" in text else expression


def docstring(sentence: str) -> list[str]:
    """Return the lines of a test's docstring, indented."""
    # Of characters that cannot be seen, some cannot stand in source at all.
    seen = "".join(letter if letter.isprintable() else " " for letter in one_line(sentence))
    text = seen.replace("\\", "\\\\").replace('"""', "'''").strip()
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rsplit(" ", 1)[0].rstrip("\\") + " …"
    if len(text) <= WIDTH - 10:
        end = " " if text.endswith('"') else ""
        return [f'    """{text}{end}"""']
    lines = textwrap.wrap(text, WIDTH - 7, break_long_words=False, break_on_hyphens=False)
    return [f'    """{lines[0]}', *(f"    {line}" for line in lines[1:]), '    """']


def literal(text: str) -> str:
    """Return a Python string literal for `text`; one that is long as adjacent literals.

    >>> literal("a")
    '"a"'
    """
    if len(text) <= _LONG:
        return quoted(text)
    lines = text.splitlines(keepends=True)
    parts = (quoted(part) for line in lines for part in _PART.findall(line))
    return "(\n" + "\n".join(f"    {part}" for part in parts) + "\n)"


def quoted(text: str) -> str:
    """Return a string literal in double quotes, unless that needs more backslashes."""
    plain = repr(text)
    return plain if '"' in text or plain[0] == '"' else f'"{plain[1:-1]}"'
