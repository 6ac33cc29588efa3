"""Shows a file to a model: all of it, or a window and what is needed to go elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from pytest_brt.syntax import parse

#: Lines around the one that was asked for.
_BEFORE, _AFTER = 5, 60
#: A definition that begins so many lines above is shown from its beginning.
_NEAR = 25

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def show(path: str, text: str, line: int, most: int, count: Callable[[str], int]) -> str:
    """Return `text` in at most about `most` tokens, with no gap inside.

    Of a long file what stands around `line` is shown, and which definitions that is in. Without
    a line it is the beginning, and where the file's definitions are, for the next look.
    """
    if not line and count(text) <= most:
        return text.rstrip("\n") or "[the file is empty]"
    lines = text.split("\n")
    tree = _tree(text)
    asked = max(1, min(line, len(lines)))
    around = list(_around(tree, asked)) if tree and line else []
    first = _first(asked, around)
    outline = "" if line or not tree else _outline(path, tree, most // 2, count)
    inside = f" (in {', '.join(map(_named, around))})" if around else ""
    for last in range(min(len(lines), max(first + _BEFORE, asked) + _AFTER), asked - 1, -4):
        head = f"{path}, lines {first} to {last} of {len(lines)}{inside}:"
        shown = "\n".join([head, *lines[first - 1 : last], *_more(path, last, lines)]) + outline
        if count(shown) <= most:
            return shown
    head = f"{path}, line {asked} of {len(lines)}{inside}:"
    return "\n".join([head, lines[asked - 1], *_more(path, asked, lines)]) + outline


def _more(path: str, last: int, lines: list[str]) -> list[str]:
    """Return how to go on after `last`, where anything comes."""
    return [f"[… go on with {path}:{last + 1} …]"] if any(lines[last:]) else []


def _tree(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except SyntaxError:
        return None


def _first(asked: int, around: list[_Definition]) -> int:
    """Return where the window begins: with the definition, or a little above the line."""
    begin = around[-1].lineno - 1 if around else 0
    return max(1, begin if 0 <= asked - begin <= _NEAR else asked - _BEFORE)


def _around(tree: ast.Module, line: int) -> Iterator[_Definition]:
    """Yield the definitions that `line` stands in, the outermost first."""
    body: list[ast.stmt] = tree.body
    while body:
        inside = [
            node
            for node in body
            if isinstance(node, _Definition) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        yield from inside[:1]
        body = inside[0].body if inside else []


def _named(node: _Definition) -> str:
    return f"{_kind(node)} {node.name}, lines {node.lineno} to {node.end_lineno}"


def _outline(path: str, tree: ast.Module, most: int, count: Callable[[str], int]) -> str:
    """Return where the definitions are, as many as fit, without methods when those are many."""
    head = f'\n\nDefinitions (look at one with "{path}:LINE"):\n'
    found = list(_definitions(tree, methods=True))
    if count("\n".join(found)) > most:
        found = list(_definitions(tree, methods=False))
    shown = len(found)
    while shown and count("\n".join(found[:shown])) > most:
        shown = shown * 3 // 4
    if shown < len(found):
        found[shown:] = [f"[… {len(found) - shown} more; find them with code_search …]"]
    return head + "\n".join(found) if found else ""


def _definitions(tree: ast.Module, *, methods: bool) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, _Definition):
            yield f"{node.lineno}: {_kind(node)} {node.name}"
        if methods and isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{inner.lineno}:   {_kind(inner)} {inner.name}"


def _kind(node: _Definition) -> str:
    return "class" if isinstance(node, ast.ClassDef) else "def"
