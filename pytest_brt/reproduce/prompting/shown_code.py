"""The code that a model is shown: the likeliest places whole, in the order of their worth.

Of a place that is too long the statements are shown that have most to do with the report. Around
each stand the heads of its class and of the functions next to it; a gap says where anything is
left out, so that the rest is not taken for all of it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.words import terms_of
from pytest_brt.syntax.parse import (
    Function,
    bodies,
    bound_targets,
    first_line,
    is_constant,
    tree_of,
)
from pytest_brt.types import Place

#: A gap, where code is left out; what stands around it may need what is not shown.
GAP = "# …"
#: Share of the room that is left which one place may take, and what any may that has the room.
_SHARE, _SMALL = 0.6, 1_000
#: Characters of what is outside of functions.
_PART = 700
#: Room below which nothing more is shown, and that the heads around a place take.
_LEAST, _AROUND = 250, 120
#: Methods of a class of which the head is shown, and characters of each.
_METHODS, _HEAD = 4, 80
#: Statements that are longer than this many lines are data, of which no more than so many lines
#: are told.
_DATA, _TOLD = 8, 6
#: Share of the worth of a statement that the ones before and after it are worth.
_BESIDE = 0.4
#: Characters that a statement costs besides its own: heads of what it stands in, and gaps.
_HEADS = 30
#: Characters of the tests that a prompt shows.
MOST_TESTS = 2_000
#: Tests of a file that are shown, and the share of the room for them: the rest is for helpers.
_TESTS, _OWN = 3, 0.65


@dataclass(slots=True)
class Page:
    """What is shown of one module, as it is chosen."""

    lines: Sequence[str]
    tree: ast.Module
    #: What is shown of statements, functions among them.
    shown: dict[ast.stmt, list[str]] = field(default_factory=dict)
    #: Functions of which the head alone is shown.
    heads: set[ast.stmt] = field(default_factory=set)

    @classmethod
    def of(cls, text: str) -> Page:
        """Return a page that shows nothing yet; raises SyntaxError when `text` is not Python."""
        return cls(lines=text.split("\n"), tree=tree_of(text))

    def text(self) -> str:
        """Return what is shown, as code."""
        shown = "\n".join(self._block(self.tree.body, is_outer=True))
        return re.sub(r"\n{3,}", "\n\n", shown).strip("\n")

    def words(self) -> frozenset[str]:
        """Return the words of what is shown."""
        return frozenset(re.findall(r"\w+", self.text()))

    def own(self, node: ast.stmt) -> list[str]:
        """Return the lines of a statement, decorators and the comment right above included."""
        first = first_line(node)
        while first > 1 and self.lines[first - 2].startswith(f"{' ' * node.col_offset}#"):
            first -= 1
        return list(self.lines[first - 1 : node.end_lineno])

    def leaves(self, body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
        """Yield the statements that are shown whole or not at all."""
        for node in body:
            blocks = self._blocks(node)
            if not blocks:
                yield node
            for block in blocks:
                yield from self.leaves(block)

    def _blocks(self, node: ast.stmt) -> list[list[ast.stmt]]:
        """Return the blocks of a compound statement, none where one shares a line with its head."""
        found = sorted(bodies(node), key=lambda block: block[0].lineno)
        beside = (self.lines[b[0].lineno - 1][: b[0].col_offset].strip() for b in found)
        return [] if any(beside) else found

    def _block(self, body: Sequence[ast.stmt], *, is_outer: bool) -> list[str]:
        """Return what is shown of the statements in `body`, those of a class or module apart."""
        margin = " " * body[0].col_offset if body else ""
        shown: list[str] = []
        gap = False
        for node in body:
            lines = self.statement(node)
            if not lines:
                gap = gap or not _is_silent(node)
                continue
            if is_outer and isinstance(node, Function | ast.ClassDef) and node not in self.heads:
                lines = ["", *lines, ""]
            shown += [f"{margin}{GAP}", *lines] if gap else lines
            gap = False
        return [*shown, f"{margin}{GAP}"] if gap and shown else shown

    def statement(self, node: ast.stmt) -> list[str]:
        """Return what is shown of a statement: all of it, or heads and what is shown below."""
        if node in self.shown:
            return self.shown[node]
        blocks = self._blocks(node)
        inside = [self._block(b, is_outer=isinstance(node, ast.ClassDef)) for b in blocks]
        if not any(inside) and node not in self.heads:
            return []
        if not blocks:
            return self.own(node)
        shown: list[str] = []
        start = first_line(node)
        for block, lines in zip(blocks, inside, strict=True):
            margin = " " * block[0].col_offset
            if block[0].col_offset == node.col_offset:  # an "elif" is its own head
                return [*shown, *(lines or [f"{margin}{GAP}"])]
            # What stands between two blocks is the head of the second; comments are its body's.
            heads = self.lines[start - 1 : first_line(block[0]) - 1]
            shown += [line for line in heads if line.strip() and not line.startswith(f"{margin}#")]
            gap = [f"{margin}{GAP}"] if any(inside) else []
            shown += lines or [*gap, f"{margin}..."]
            start = (block[-1].end_lineno or block[-1].lineno) + 1
        return shown


def show_suspects(
    suspects: Iterable[Place], index: Index, most: int, worths: Mapping[str, float]
) -> tuple[tuple[str, str], ...]:
    """Return path and code of what is suspected, the likeliest first, in about `most` characters.

    `worths` is what each term of the report is worth, for what is too long to be shown whole.
    """
    pages: dict[str, Page | None] = {}
    for suspect in suspects:
        if suspect.path not in pages:
            pages[suspect.path] = _page(suspect.path, index)
        page = pages[suspect.path]
        if page is not None:
            most = show((suspect.function,), page, most, worths)
    texts = ((path, page.text()) for path, page in pages.items() if page is not None)
    return tuple((path, text) for path, text in texts if text)


def show_file(path: str, index: Index, most: int, worths: Mapping[str, float]) -> str:
    """Return the file `path`, or of a long one the functions that count most; "" when it is gone.

    Of tests, what the shown ones use comes with them (`show_tests`).
    """
    if is_test_path(path):
        return show_tests(path, index, most, worths)
    page = _page(path, index)
    if page is None or _length([page.lines]) <= most:
        return "\n".join(page.lines) if page else ""
    show(_ranked(page, worths), page, most, worths)
    return page.text()


def show_tests(path: str, index: Index, most: int, worths: Mapping[str, float]) -> str:
    """Return the tests of the file `path` that are most like the report, as far as there is room.

    With them come the helpers and fixtures of the file that they use, and its imports of what
    they use.
    """
    page = _page(path, index)
    if page is None:
        return ""
    ranked = _ranked(page, worths)
    tests = [name for name in ranked if name.rpartition(".")[2].startswith("test")][:_TESTS]
    left = show(tests, page, int(most * _OWN), worths, tests=True)
    used = page.words()
    helpers = [name for name in ranked if name not in tests and name.rpartition(".")[2] in used]
    show(helpers, page, left + int(most * (1 - _OWN)), worths, tests=True)
    used = page.words()
    for node in page.tree.body:
        if not used.isdisjoint(_bound(node)) and len(page.own(node)) <= _DATA:
            page.shown[node] = page.own(node)
    return page.text()


def _ranked(page: Page, worths: Mapping[str, float]) -> list[str]:
    """Return the functions of a module, those first that have most to do with the report."""
    parts = {
        f"{around}.{node.name}".lstrip("."): worth_of("\n".join(page.own(node)), worths)
        for around, body in _bodies(page.tree)
        for node in body
        if isinstance(node, Function)
    }
    return sorted(parts, key=lambda name: (-parts[name], name))


def _page(path: str, index: Index) -> Page | None:
    try:
        return Page.of(index.source(path))
    except (OSError, SyntaxError):
        return None  # it was deleted since, or is not Python of this version


def _bound(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return frozenset((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    return frozenset(bound_targets(node))


def show(
    names: Sequence[str], page: Page, room: int, worths: Mapping[str, float], *, tests: bool = False
) -> int:
    """Put the places `names`, best first, on `page` as far as there is room; return what is left.

    These are qualified names of functions and classes, "" for what is outside of them; `room` is
    in characters. Of `tests` no others are told of by their heads, which say nothing.
    """
    blocks = dict(_bodies(page.tree))
    for name in dict.fromkeys(names):
        if room < _LEAST:
            break
        most = max(int(room * _SHARE), min(_SMALL, room)) - _AROUND
        outer, _, own = name.rpartition(".")
        functions = {n.name: n for n in blocks.get(outer, ()) if isinstance(n, Function)}
        told: Sequence[ast.stmt] = ()
        if own in functions:
            taken = _show_function(functions[own], page, most, worths)
            at = list(functions).index(own)
            told = list(functions.values())[max(0, at - 1) : at + 2] if taken else ()
            room -= taken
        elif name in blocks:
            plain = (n for n in blocks[name] if not isinstance(n, Function | ast.ClassDef))
            found = _chosen(page.leaves(plain), page, min(most, _PART), worths)
            page.shown |= found
            room -= _length(found.values())
            methods = [n for n in blocks[name] if isinstance(n, Function) and name]
            told = methods[:_METHODS][: room // _HEAD]
            room -= 0 if tests else _HEAD * len(told)
        page.heads.update(node for node in told if not tests and not page.statement(node))
    return room


def _show_function(function: Function, page: Page, most: int, worths: Mapping[str, float]) -> int:
    """Put a function on the page, whole or what counts of it; return the room that it takes."""
    lines = page.own(function)
    if len("\n".join(lines)) <= most:
        page.shown[function] = lines
    else:
        page.shown |= _chosen(page.leaves(function.body), page, most, worths)
    page.heads.discard(function)
    shown = page.statement(function)
    return len("\n".join(shown)) + _AROUND if shown else 0


def worth_of(text: str, worths: Mapping[str, float]) -> float:
    """Return how much a few lines have to do with what `worths` are the terms of."""
    found = sum(worths.get(term, 0.0) for term in terms_of(text))
    return found / math.sqrt(2 + text.count("\n"))


def _chosen(
    nodes: Iterable[ast.stmt], page: Page, most: int, worths: Mapping[str, float]
) -> dict[ast.stmt, list[str]]:
    """Return what is shown of some statements in about `most` characters: all, or the worthiest.

    A docstring is what they can do without.
    """
    every = [node for node in nodes if not _is_silent(node)]
    told = {node: page.own(node) for node in every}
    if _length(told.values()) <= most:
        return told
    told = {node: _told(lines, worths) for node, lines in told.items()}
    own = [0.0, *(worth_of("\n".join(lines), worths) for lines in told.values()), 0.0]
    worth = {n: own[at] + _BESIDE * (own[at - 1] + own[at + 1]) for at, n in enumerate(every, 1)}
    kept = set()
    for node in sorted(every, key=lambda node: -worth[node]):
        size = _length([told[node]]) + _HEADS
        if worth[node] > 0 and size <= most:
            kept.add(node)
            most -= size
    return {node: told[node] for node in every if node in kept}


def _length(parts: Iterable[Sequence[str]]) -> int:
    return sum(len(line) + 1 for lines in parts for line in lines)


def _told(lines: list[str], worths: Mapping[str, float]) -> list[str]:
    """Return a statement, or of one that is data the lines that count, as comments."""
    if len(lines) <= _DATA:
        return lines
    ranked = sorted(range(1, len(lines)), key=lambda n: -worth_of(lines[n], worths))
    best = sorted(n for n in ranked[:_TOLD] if worth_of(lines[n], worths) > 0)
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return [f"{indent}# {lines[n].strip()}" for n in (0, *best)]


def _bodies(tree: ast.Module) -> Iterator[tuple[str, Sequence[ast.stmt]]]:
    """Yield the blocks of the module and its classes, by qualified name."""
    todo: list[tuple[str, Sequence[ast.stmt]]] = [("", tree.body)]
    while todo:
        name, body = todo.pop()
        yield name, body
        inner = (node for node in body if isinstance(node, ast.ClassDef))
        todo += [(f"{name}.{node.name}".lstrip("."), node.body) for node in inner]


def _is_silent(node: ast.stmt) -> bool:
    """Return whether what is shown is the same without `node`: an import, a docstring."""
    return is_constant(node) or isinstance(node, ast.Import | ast.ImportFrom)
