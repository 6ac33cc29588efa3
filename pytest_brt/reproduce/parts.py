"""The parts of a long file that have most to do with a report."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from pytest_brt.code.facts import split_identifier, words_of
from pytest_brt.syntax import parse

_Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Statements outside of functions that are longer than this many lines are data.
_DATA = 4
#: Share of the room that functions shown in full may take; the rest is for first lines.
_FULL = 0.7
#: What a function that is suspected is worth beside any number of words, and how much less
#: each is worth than the one before it.
_SUSPECT, _LESS = 1000.0, 10.0
#: What a function is worth whose own name stands in the report, and what its words are worth
#: when that of its class does.
_NAMED, _OF_NAMED = 100.0, 2.0
#: A shorter name without an underscore may be a plain word.
_NAME = 5


class _Least(IntEnum):
    """How little is shown of what is not shown in full; the first that fits is taken."""

    FIRST_LINES = 0
    #: No methods of classes that nothing speaks of.
    CLASSES = 1
    #: No functions.
    FULL_ONLY = 2
    #: No classes that nothing is shown of, and no statements but the imports that tests use.
    ALONE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A function or method of a file."""

    name: str
    text: str
    words: frozenset[str]
    #: Whole names in it.
    names: frozenset[str]


def parts_of(text: str, *, wanted: Collection[str], about: str, most: int, tests: bool) -> str:
    """Return the parts of the module `text` that count, in at most about `most` characters.

    Functions in `wanted`, the likeliest first, those that `about` names, and those that share
    rare words with it are shown in full. Of the others the first line is shown where there is
    room, of tests not even that; what is not there is said.

    Raises:
        SyntaxError: `text` is not Python.
    """
    tree = parse(text)
    lines = text.split("\n")
    parts = list(_functions(tree.body, lines, ""))
    full = _chosen(parts, wanted, about, int(most * _FULL))
    if tests:
        full |= _used(parts, full, int(most * (1 - _FULL)))
    named = frozenset(wanted) | _named(about)
    used = frozenset(re.findall(r"\w+", "\n".join(p.text for p in parts if p.name in full)))
    out = len([part for part in parts if part.name not in full])
    text = ""
    for least in _Least:
        view = _View(lines=lines, full=full, named=named, used=used, tests=tests, least=least)
        shown = [line for node in tree.body for line in view.outline(node, "")]
        if out and (tests or least is not _Least.FIRST_LINES):
            shown.append(f"# … and {out} more functions")
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(shown))
        if len(text) <= most:
            break
    return text


def _named(about: str) -> frozenset[str]:
    """Return the names in a report that are hardly plain words."""
    found = frozenset(re.findall(r"[A-Za-z_]\w*", about))
    called = frozenset(re.findall(r"([A-Za-z_]\w*)\(", about))
    return frozenset(
        name
        for name in found
        if name in called or "_" in name.strip("_") or (name != name.lower() and len(name) >= _NAME)
    )


def _chosen(
    parts: Sequence[_Part], wanted: Collection[str], about: str, room: int
) -> frozenset[str]:
    """Return the names of the functions that are shown in full."""
    words = frozenset(words_of([about]))
    named = _named(about)
    spread = Counter(word for part in parts for word in part.words)
    using = Counter(name for part in parts for name in part.names & named)
    ranks = {name: rank for rank, name in enumerate(wanted)}

    def worth(part: _Part) -> float:
        common = sum(math.log(1 + len(parts) / spread[word]) for word in part.words & words)
        # That it uses what the report names says more than the same words apart.
        common += sum(2 * math.log(1 + len(parts) / using[n]) for n in part.names & named)
        near = common / math.sqrt(10 + part.text.count("\n"))
        around, _, name = part.name.rpartition(".")
        if part.name in ranks:
            return _SUSPECT - _LESS * min(ranks[part.name], 50) + near
        if around in ranks or named.intersection(around.split(".")):
            near *= _OF_NAMED
        return _NAMED * (name in named) + near

    found: set[str] = set()
    least = 0.0
    for part in sorted(parts, key=lambda part: (-worth(part), part.name)):
        if worth(part) < least:
            break
        size = len(part.text)
        if worth(part) > 0 and (size <= room or (part.name in wanted and not found)):
            found.add(part.name)
            room -= size
        elif worth(part) >= _NAMED:
            # Its first line says more than the whole of one that nothing speaks of.
            least = _NAMED
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
            yield _Part(
                name=f"{around}{node.name}",
                text=text,
                words=frozenset(split_identifier(text)),
                names=frozenset(re.findall(r"[A-Za-z_]\w*", text)),
            )
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, lines, f"{around}{node.name}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """Which lines of a module are shown."""

    lines: Sequence[str]
    full: Collection[str]
    #: Names that the report speaks of, of classes too.
    named: Collection[str]
    #: Words of the functions that are shown in full.
    used: Collection[str]
    tests: bool
    least: _Least

    def outline(self, node: ast.stmt, around: str) -> list[str]:
        """Return the lines of a statement that are shown."""
        first, last = _first(node), node.end_lineno or node.lineno
        if isinstance(node, ast.ClassDef):
            return self._class(node, around)
        if isinstance(node, _Function):
            return self._function(node, around)
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or last - node.lineno >= _DATA:
            return []
        if self.least is _Least.ALONE and not self._serves(node):
            return []
        return list(self.lines[first - 1 : last])

    def _serves(self, node: ast.stmt) -> bool:
        """Return whether a statement of a test file imports what the shown functions use."""
        if not self.tests or not isinstance(node, ast.Import | ast.ImportFrom):
            return False
        bound = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        return not bound.isdisjoint(self.used)

    def _class(self, node: ast.ClassDef, around: str) -> list[str]:
        name = f"{around}{node.name}"
        speaks = {name, node.name} & set(self.named)
        view = self
        if self.least is _Least.CLASSES and speaks:
            view = replace(self, least=_Least.FIRST_LINES)
        inside = [line for part in node.body for line in view.outline(part, f"{name}.")]
        if not inside and (self.tests or (self.least is _Least.ALONE and not speaks)):
            return []
        head = list(self.lines[_first(node) - 1 : _head_end(node, self.lines)])
        return ["", *head, *(inside or [" " * (node.col_offset + 4) + "..."])]

    def _function(self, node: _Function, around: str) -> list[str]:
        if f"{around}{node.name}" in self.full:
            return ["", *self.lines[_first(node) - 1 : node.end_lineno], ""]
        hidden = self.least >= _Least.FULL_ONLY or (around and self.least is _Least.CLASSES)
        if self.tests or hidden:
            return []
        head = self.lines[node.lineno - 1 : _head_end(node, self.lines)]
        return [*head, " " * (node.col_offset + 4) + "..."]


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
