"""The code that a model is shown: the likeliest places whole, in the order of their worth.

A place that is too long is shown in part (`slices`). Around each stand the heads of its class and
of the functions next to it; a gap says where anything is left out.
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
from pytest_brt.reproduce.prompting.slices import GAP, head_end, sliced
from pytest_brt.syntax import bound_targets, first_line, is_constant, parse
from pytest_brt.types import Place

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Share of the room that is left which one place may take, and what any may that has the room.
_SHARE, _SMALL = 0.6, 1_000
#: What is outside of functions: characters that are shown whole, and of more than those.
_WHOLE, _PART = 600, 700
#: Share of the worth of the best statement below which one is left out.
_WORTH = 0.3
#: Room below which nothing more is shown, and that the heads around a place take.
_LEAST, _AROUND = 250, 120
#: Methods of a class of which the head is shown, and characters of each.
_METHODS, _HEAD = 4, 80
#: Statements outside of functions that are longer than this many lines are data, of which no
#: more than so many lines are told.
_DATA, _TOLD = 8, 6
#: Characters of the tests that a prompt shows.
MOST_TESTS = 2_000
#: Tests of a file that are shown, and the share of the room for them: the rest is for helpers.
_TESTS, _OWN = 3, 0.65


@dataclass(slots=True)
class Page:
    """What is shown of one module, as it is chosen."""

    lines: Sequence[str]
    tree: ast.Module
    #: What is shown of its statements, functions among them.
    shown: dict[ast.stmt, list[str]] = field(default_factory=dict)
    #: Functions of which the head is shown.
    heads: set[ast.stmt] = field(default_factory=set)

    @classmethod
    def of(cls, text: str) -> Page:
        """Return a page that shows nothing yet; raises SyntaxError when `text` is not Python."""
        return cls(lines=text.split("\n"), tree=parse(text))

    def text(self) -> str:
        """Return what is shown, as code."""
        shown = "\n".join(self._block(self.tree.body, ""))
        return re.sub(r"\n{3,}", "\n\n", shown).strip("\n")

    @property
    def size(self) -> int:
        """How many characters the module has."""
        return sum(len(line) + 1 for line in self.lines)

    def words(self) -> frozenset[str]:
        """Return the words of the functions that are shown."""
        functions = (lines for node, lines in self.shown.items() if isinstance(node, Function))
        return frozenset(re.findall(r"\w+", "\n".join(map("\n".join, functions))))

    def own(self, node: ast.stmt) -> list[str]:
        """Return the lines of a statement, decorators included."""
        return list(self.lines[first_line(node) - 1 : node.end_lineno])

    def _block(self, body: Sequence[ast.stmt], indent: str) -> list[str]:
        shown: list[str] = []
        gap = False
        for node in body:
            lines = self._statement(node)
            if not lines:
                gap = gap or not _is_silent(node)
                continue
            shown += [f"{indent}{GAP}", *lines] if gap else lines
            gap = False
        return [*shown, f"{indent}{GAP}"] if gap and shown else shown

    def _statement(self, node: ast.stmt) -> list[str]:
        if isinstance(node, ast.ClassDef):
            inside = self._block(node.body, _inner(node))
            return ["", *self._head(node), *inside, ""] if inside else []
        shown = self.shown.get(node, [])
        if not isinstance(node, Function):
            return shown
        if shown:
            return ["", *shown, ""]
        return [*self._head(node), f"{_inner(node)}..."] if node in self.heads else []

    def _head(self, node: Function | ast.ClassDef) -> list[str]:
        return list(self.lines[first_line(node) - 1 : head_end(node, node.body, self.lines)])


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
    if page is None or page.size <= most:
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
    """Return the names that an import or an assignment binds."""
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
    bodies = dict(_bodies(page.tree))
    for name in names:
        if room < _LEAST:
            break
        most = max(int(room * _SHARE), min(_SMALL, room)) - _AROUND
        outer, _, own = name.rpartition(".")
        functions = [node for node in bodies.get(outer, ()) if isinstance(node, Function)]
        at = next((n for n in reversed(range(len(functions))) if functions[n].name == own), None)
        if at is not None:
            lines = page.own(functions[at])
            if len("\n".join(lines)) > most:
                lines = sliced(functions[at], page.lines, lambda text: worth_of(text, worths), most)
            if lines and functions[at] not in page.shown:
                page.shown[functions[at]] = lines
                room -= len("\n".join(lines)) + _AROUND
                page.heads.update([] if tests else functions[max(0, at - 1) : at + 2])
        elif name in bodies:
            room -= _show_statements(bodies[name], page, most, worths)
            methods = [node for node in bodies[name] if isinstance(node, Function)]
            told = [] if tests or not name else methods[:_METHODS][: room // _HEAD]
            page.heads.update(told)
            room -= _HEAD * len(told)
    return room


def worth_of(text: str, worths: Mapping[str, float]) -> float:
    """Return how much a few lines have to do with what `worths` are the terms of."""
    found = sum(worths.get(term, 0.0) for term in terms_of(text))
    return found / math.sqrt(2 + text.count("\n"))


def _show_statements(
    body: Sequence[ast.stmt], page: Page, most: int, worths: Mapping[str, float]
) -> int:
    """Put what is no function on the page, all or the worthiest; return the room that it takes."""
    nodes = [n for n in body if not isinstance(n, Function | ast.ClassDef) and not _is_silent(n)]
    whole = {node: page.own(node) for node in nodes}
    if (size := _length(whole.values())) <= min(_WHOLE, most):
        page.shown |= whole
        return size
    told = {node: _told(lines, worths) for node, lines in whole.items()}
    worth = {node: worth_of("\n".join(lines), worths) for node, lines in told.items()}
    least = _WORTH * max(worth.values())
    room = most = min(most, _PART)
    for node in sorted(told, key=lambda node: -worth[node]):
        size = _length([told[node]])
        if size <= room and worth[node] > least:
            page.shown[node] = told[node]
            room -= size
    return most - room


def _length(parts: Iterable[Sequence[str]]) -> int:
    """Return how many characters some lines have."""
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


def _inner(node: Function | ast.ClassDef) -> str:
    return " " * (node.col_offset + 4)


def _is_silent(node: ast.stmt) -> bool:
    """Return whether what is shown is the same without `node`: an import, a docstring."""
    return is_constant(node) or isinstance(node, ast.Import | ast.ImportFrom)
