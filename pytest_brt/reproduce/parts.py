"""The parts of a long file that have most to do with a report."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pytest_brt.code.facts import split_identifier, words_of
from pytest_brt.syntax import parse

_Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Statements outside of functions that are longer than this many lines are data.
_DATA = 4
#: Share of the room that functions shown in full may take; the rest is for first lines.
_FULL = 0.7
#: What a function that is suspected is worth beside any number of words.
_SUSPECT = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A function or method of a file."""

    name: str
    text: str
    words: frozenset[str]


def parts_of(text: str, *, wanted: Collection[str], about: str, most: int, tests: bool) -> str:
    """Return the parts of the module `text` that count, in at most about `most` characters.

    Functions in `wanted`, and those that share rare words with `about`, are shown in full. Of
    the others the first line is shown, of tests not even that; what is not there is said.

    Raises:
        SyntaxError: `text` is not Python.
    """
    tree = parse(text)
    lines = text.split("\n")
    parts = list(_functions(tree.body, lines, ""))
    full = _chosen(parts, wanted, about, int(most * _FULL))
    if tests:
        full |= _used(parts, full, int(most * (1 - _FULL)))
    shown: list[str] = []
    for node in tree.body:
        shown += _outline(node, lines, full, "", tests)
    out = len([part for part in parts if part.name not in full])
    if out and tests:
        shown.append(f"# … and {out} more functions")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(shown))


def _chosen(
    parts: Sequence[_Part], wanted: Collection[str], about: str, room: int
) -> frozenset[str]:
    """Return the names of the functions that are shown in full."""
    words = frozenset(words_of([about]))
    spread = Counter(word for part in parts for word in part.words)

    def worth(part: _Part) -> float:
        common = sum(math.log(1 + len(parts) / spread[word]) for word in part.words & words)
        suspected = _SUSPECT * (part.name in wanted)
        return suspected + common / math.sqrt(10 + part.text.count("\n"))

    found: set[str] = set()
    for part in sorted(parts, key=lambda part: (-worth(part), part.name)):
        size = len(part.text)
        if worth(part) > 0 and (size <= room or (part.name in wanted and not found)):
            found.add(part.name)
            room -= size
    return frozenset(found)


def _used(parts: Sequence[_Part], full: Collection[str], room: int) -> frozenset[str]:
    """Return the helpers and fixtures that the functions shown in full use."""
    text = "\n".join(part.text for part in parts if part.name in full)
    names = set(re.findall(r"\w+", text))
    found: set[str] = set()
    for part in parts:
        is_helper = part.name in names and not part.name.startswith("test")
        if is_helper and part.name not in full and len(part.text) <= room:
            found.add(part.name)
            room -= len(part.text)
    return frozenset(found)


def _functions(body: Sequence[ast.stmt], lines: Sequence[str], around: str) -> Iterator[_Part]:
    for node in body:
        if isinstance(node, _Function):
            text = "\n".join(lines[_first(node) - 1 : node.end_lineno])
            words = frozenset(split_identifier(text))
            yield _Part(name=f"{around}{node.name}", text=text, words=words)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, lines, f"{around}{node.name}.")


def _outline(
    node: ast.stmt, lines: Sequence[str], full: Collection[str], around: str, tests: bool
) -> list[str]:
    """Return the lines of a statement that are shown."""
    first, last = _first(node), node.end_lineno or node.lineno
    if isinstance(node, ast.ClassDef):
        name = f"{around}{node.name}"
        inside = [
            line for part in node.body for line in _outline(part, lines, full, f"{name}.", tests)
        ]
        head = list(lines[first - 1 : _head_end(node, lines)])
        empty = " " * (node.col_offset + 4) + "..."
        return ["", *head, *(inside or [empty])] if inside or not tests else []
    if isinstance(node, _Function):
        if f"{around}{node.name}" in full:
            return ["", *lines[first - 1 : last], ""]
        if tests:
            return []
        return [
            *lines[node.lineno - 1 : _head_end(node, lines)],
            " " * (node.col_offset + 4) + "...",
        ]
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return [] if is_text or last - node.lineno >= _DATA else list(lines[first - 1 : last])


def _head_end(node: _Function | ast.ClassDef, lines: Sequence[str]) -> int:
    """Return the line in which the head of a definition ends: comments below it are its body's."""
    last = node.body[0].lineno - 1
    while last > node.lineno and lines[last - 1].strip().startswith(("#", "@")):
        last -= 1
    while last > node.lineno and not lines[last - 1].strip():
        last -= 1
    return max(last, node.lineno)


def _first(node: ast.stmt) -> int:
    marks: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(mark.lineno for mark in marks)])
