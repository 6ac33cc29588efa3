"""A result and what it is compared with → the lines of a test that compare them, and its texts."""

from __future__ import annotations

import ast
import re
import textwrap

from pytest_brt.edit.source_text import WIDTH
from pytest_brt.observe.results import Form, Result
from pytest_brt.oracle.draft import one_line
from pytest_brt.pysource.parse import parse_expression
from pytest_brt.report.match import ADDRESS, is_steady

#: Characters of a string that needs a line of its own, and of the parts that it is broken into.
_LONG = 60
_PART = re.compile(r".{1,65}$|.{1,65}(?<= )|.{1,65}", re.DOTALL)
#: Types of what is compared by identity; "" is not known.
_SINGLETONS = frozenset({"", "bool", "NoneType"})


def comparison(result: Result, other: str, *, differs: bool) -> tuple[tuple[str, ...], bool]:
    """Return the lines that compare a result with `other`, and whether they need `capsys`.

    `other` is Python source where the result can be evaluated, else the text itself.
    """
    same = "!=" if differs else "=="
    if result.form is Form.STDOUT:
        return _printed(result, other, same, "reported" if differs else "expected"), True
    expression = _grouped(result.expression)
    if result.form is Form.VALUE and result.evaluable:
        if other.strip() in ("True", "False", "None") and result.type in _SINGLETONS:
            return (f"assert {expression} is {'not ' if differs else ''}{other.strip()}",), False
        return (f"assert {expression} {same} {_grouped(other)}",), False
    text = literal(other)
    lines: list[str] = []
    if "\n" in text:
        name = "reported" if differs else "expected"
        lines, text = [f"{name} = {text}"], name
    if result.form is Form.STR and result.type == "str":
        return (*lines, f"assert {expression} {same} {text}"), False
    wrap = "repr" if result.form is Form.VALUE else "str"
    shown = f"{wrap}({result.expression})"
    if not is_steady(text):
        shown, text = f're.sub(r"{ADDRESS.pattern}", "0x", {shown})', ADDRESS.sub("0x", text)
    return (*lines, f"assert {shown} {same} {text}"), False


def _printed(result: Result, other: str, same: str, name: str) -> tuple[str, ...]:
    """Return the lines that compare what a statement prints, with `name` for a text of lines."""
    text = literal(other)
    run = result.expression
    if "\n" not in text:
        return run, f"assert capsys.readouterr().out {same} {text}"
    return f"{name} = {text}", run, f"assert capsys.readouterr().out {same} {name}"


def _grouped(expression: str) -> str:
    """Return `expression`, in parentheses where it would bind weaker than a comparison."""
    text = expression.strip()
    node = parse_expression(text)
    if isinstance(node, ast.Tuple) and text.startswith("("):
        return expression
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(text) > _LONG:
        return literal(node.value)
    weak = (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Tuple)
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return f"({expression})" if isinstance(node, weak) or is_not or "\n" in text else expression


def docstring(sentence: str) -> list[str]:
    """Return the lines of a test's docstring, indented."""
    # Of characters that cannot be seen, some cannot stand in source at all.
    seen = "".join(letter if letter.isprintable() else " " for letter in one_line(sentence))
    text = seen.replace("\\", "\\\\").replace('"""', "'''").strip()
    if text.endswith('"'):
        text += " "
    if len(text) > 400:
        text = text[:400].rsplit(" ", 1)[0].rstrip("\\") + " …"
    if len(text) <= WIDTH - 10:
        return [f'    """{text}"""']
    # Several blanks are part of a value that is quoted, and no place to break a line.
    whole = re.sub(" {2,}", lambda blanks: "\0" * len(blanks[0]), text)
    wrapped = textwrap.wrap(whole, WIDTH - 7, break_long_words=False, break_on_hyphens=False)
    first, *rest = (line.replace("\0", " ") for line in wrapped)
    return [f'    """{first}', *(f"    {line}" for line in rest), '    """']


def literal(text: str) -> str:
    """Return a Python string literal for `text`; one that is long as adjacent literals.

    >>> literal("a")
    '"a"'
    """
    if len(text) <= _LONG:
        return quoted(text)
    return "(\n" + "\n".join(f"    {part}" for part in pieces(text)) + "\n)"


def pieces(text: str) -> list[str]:
    """Return string literals that make up `text`, one per line of it, or more where it is long."""
    lines = text.splitlines(keepends=True)
    return [quoted(part) for line in lines for part in _PART.findall(line)]


def quoted(text: str) -> str:
    """Return a string literal in double quotes, unless that needs more backslashes."""
    plain = repr(text)
    return plain if '"' in text or plain[0] == '"' else f'"{plain[1:-1]}"'
