"""Puts the statements of a test module together as a person would lay them out."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Sequence
from itertools import pairwise

from pytest_brt.syntax import parse

_BIG = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_IMPORT = ast.Import | ast.ImportFrom
#: A string literal in single quotes that could as well have double ones.
_SINGLE = re.compile(r"""^[rbRBuU]{0,2}'(?!'')[^'"\\]*'$""")


def laid_out(body: Sequence[ast.stmt], source: str, changed: Collection[ast.stmt] = ()) -> str:
    """Return the module of the statements `body`, with two blank lines around definitions.

    Args:
        body: the statements, in order.
        source: the text that they were parsed from; their own lines of it are kept.
        changed: those whose text there is not what they are any more, by identity.
    """
    lines = source.split("\n")
    other = {id(node) for node in changed} | _crowded(body)
    out: list[str] = []
    before: ast.stmt | None = None
    for node in body:
        if before is not None:
            out.append(_between(before, node))
        out.append(unparsed(node) if id(node) in other else lines_of(node, lines))
        before = node
    return "".join(out) + "\n"


def tidied(source: str) -> str:
    """Return the module `source` with the blank lines that it should have.

    Raises:
        SyntaxError: it is not Python.
    """
    return laid_out(parse(source).body, source)


def unparsed(node: ast.AST) -> str:
    """Return the text of a statement, strings in double quotes."""
    text = ast.unparse(node)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    lines = text.split("\n")
    for token in reversed(tokens):
        (row, start), (last, end) = token.start, token.end
        if token.type == tokenize.STRING and row == last and _SINGLE.match(token.string):
            line = lines[row - 1]
            lines[row - 1] = line[:start] + token.string.replace("'", '"') + line[end:]
    return "\n".join(lines)


def _between(before: ast.stmt, node: ast.stmt) -> str:
    if isinstance(node, _BIG) or isinstance(before, _BIG):
        return "\n\n\n"
    if isinstance(before, _IMPORT) and not isinstance(node, _IMPORT):
        return "\n\n"
    return "\n"


def _crowded(body: Sequence[ast.stmt]) -> set[int]:
    """Return the statements that share a line with another one."""
    return {
        id(node)
        for one, other in pairwise(body)
        if _first(other) <= (one.end_lineno or one.lineno) and other.lineno >= one.lineno
        for node in (one, other)
    }


def _first(node: ast.stmt) -> int:
    marks: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(mark.lineno for mark in marks)])


def lines_of(node: ast.stmt, lines: Sequence[str]) -> str:
    """Return the text of a statement, with the comments right above it."""
    first = _first(node)
    while first > 1 and lines[first - 2].startswith("#"):
        first -= 1
    text = "\n".join(line.rstrip() for line in lines[first - 1 : node.end_lineno])
    return text.rstrip().removesuffix(";")
