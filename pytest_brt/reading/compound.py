"""Statements that print: loops and other blocks, and which part of a shown output is theirs."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pytest_brt.syntax import called_name, parse

_COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.TryStar, ast.Match)
_PRINTERS = frozenset({"print", "pprint"})


def is_compound(source: str) -> bool:
    """Say whether a statement is a loop, a condition or another block that runs right there."""
    return isinstance(parse(source).body[-1], _COMPOUND)


def may_print(source: str) -> bool:
    r"""Say whether a statement is a block that calls something for what it does, as `print`.

    >>> may_print("for x in y:\n    print(x)"), may_print("for x in y:\n    z = x")
    (True, False)
    """
    node = parse(source).body[-1]
    return isinstance(node, _COMPOUND) and any(
        isinstance(child, ast.Expr) and isinstance(child.value, ast.Call)
        for child in ast.walk(node)
    )


def prints_inside(source: str) -> bool:
    """Say whether a statement is a block with a `print` in it."""
    node = parse(source).body[-1]
    return isinstance(node, _COMPOUND) and any(map(_is_print, ast.walk(node)))


def is_print(source: str) -> bool:
    """Say whether a statement is a call of `print` and nothing else."""
    return _is_print(parse(source).body[-1])


def _is_print(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and called_name(node.value) in _PRINTERS
    )


def part_of(text: str, printed: Sequence[str], place: int) -> str:
    r"""Return the lines of `text` that belong to one of several statements, "" when unsure.

    The lines of the others must stand in it as they are printed, or all must print as many
    lines as `text` has.

    Args:
        text: what all of the statements print, or should print.
        printed: what each of them printed.
        place: which of them is meant.

    >>> part_of("a\nb\nc", ("a\n", "x\n"), 1)
    'b\nc'
    >>> part_of("a\nb", ("x\n", "y\n"), 0)
    'a'
    """
    lines = _lines(text)
    every = [_lines(one) for one in printed]
    before = [line for one in every[:place] for line in one]
    after = [line for one in every[place + 1 :] for line in one]
    own = lines[len(before) : len(lines) - len(after)]
    around = lines[: len(before)] == before and lines[len(lines) - len(after) :] == after
    if len(lines) == sum(map(len, every)) or (around and len(before) + len(after) < len(lines)):
        return "\n".join(own)
    return ""


def _lines(text: str) -> list[str]:
    text = text.strip("\n")
    return [line.rstrip() for line in text.split("\n")] if text.strip() else []
