"""Where in a file new code goes: behind the last definition, or at the end of a class."""

from __future__ import annotations

import ast

from pytest_brt.code.splice import indent_code, split_lines
from pytest_brt.syntax import parse


def insert_at_end(text: str, code: str, newline: str) -> str:
    """Return `text` with the definition `code` behind all others.

    A trailing ``if __name__ == "__main__":`` stays last.
    """
    lines = split_lines(text)
    body = parse(text).body
    last = len(body)
    while last and _is_main(body[last - 1]):
        last -= 1
    end = len(lines)
    if last < len(body):
        end = (body[last - 1].end_lineno or 0) if last else body[0].lineno - 1
    before, after = "".join(lines[:end]), "".join(lines[end:])
    block = code.replace("\n", newline)
    if before and not before.endswith(("\n", "\r")):
        block = newline + newline * 2 + block
    elif before.strip():
        block = newline * max(0, 2 - _blank_lines(before)) + block
    if after and not after.startswith(("\n", "\r")):
        block += newline * 2
    return before + block + after


def _blank_lines(text: str) -> int:
    """Return how many blank lines `text` ends with."""
    count = 0
    for line in reversed(split_lines(text)):
        if line.strip():
            break
        count += 1
    return count


def _is_main(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If):
        return False
    names = {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
    return "__name__" in names


def insert_in_class(text: str, holder: ast.ClassDef, code: str, newline: str) -> str:
    """Return `text` with the method `code` (not indented) at the end of class `holder`."""
    lines = split_lines(text)
    head = lines[holder.body[0].lineno - 1]
    margin = head[: len(head) - len(head.lstrip())]
    end = holder.end_lineno or len(lines)
    before, after = "".join(lines[:end]), "".join(lines[end:])
    block = newline + indent_code(code, margin).replace("\n", newline)
    if not before.endswith(("\n", "\r")):
        block = newline + block
    return before + block + after
