"""Shows a file to a model: all of it, or a window and an outline of the rest."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from pytest_brt.syntax import parse

#: Lines around the one that was asked for.
_BEFORE, _AFTER = 5, 60


def show(path: str, text: str, line: int, most: int, count: Callable[[str], int]) -> str:
    """Return `text` in at most about `most` tokens.

    Of a long file what stands around `line` is shown, or its beginning when that is 0, and then
    where its definitions are, so that the next look can go there.
    """
    if not line and count(text) <= most:
        return text.rstrip("\n") or "[the file is empty]"
    lines = text.split("\n")
    first = max(1, min(line, len(lines)) - _BEFORE)
    outline = "\n".join(_outline(text))
    head = f"{path}, lines {first} to {{}} of {len(lines)}:"
    for last in range(min(len(lines), first + _BEFORE + _AFTER), first, -4):
        shown = "\n".join([head.format(last), *lines[first - 1 : last]])
        if count(shown) <= most * 2 // 3:
            break
    else:
        shown = "\n".join([head.format(first), lines[first - 1]])
    rest = f'\n\nDefinitions (look at one with "{path}:LINE"):\n{outline}' if outline else ""
    return shown + rest


def _outline(text: str) -> Iterator[str]:
    try:
        tree = parse(text)
    except SyntaxError:
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{node.lineno}: {_kind(node)} {node.name}"
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{inner.lineno}:   {_kind(inner)} {inner.name}"


def _kind(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    return "class" if isinstance(node, ast.ClassDef) else "def"
