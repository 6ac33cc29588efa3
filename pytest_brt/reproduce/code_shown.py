"""The code that a model is shown: whole definitions by rank, with what they need to be understood.

Of a method the head of its class comes along, then the constructor, the bases, values of the module
and other definitions of the project that are named in it, as far as there is room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_brt.project.definitions import Definition
from pytest_brt.project.index import Index
from pytest_brt.project.layout import is_test_path

#: Where lines are left out.
GAP = "# …"
#: Lines of a definition that is longer than there is room: its head, and those around a line that
#: a traceback names.
_HEAD, _AROUND = 14, 12
#: Lines of a definition that comes along, and places whose needs do.
_NEEDED, _NEEDY = 40, 4
#: Share of the room that one place may take.
_SHARE = 0.45
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)|([\w./-]+\.py)#L(\d+)')
_WORD = re.compile(r"[A-Za-z_]\w*")

#: Definitions, each with lines of it that must be seen.
Wanted = dict[Definition, list[int]]


class Pages:
    """Lines of files, as they are chosen to be shown."""

    def __init__(self, index: Index, most: int) -> None:
        """Show nothing yet, and at most so many characters in the end."""
        self.index = index
        self.left = most
        self.shown: dict[str, set[int]] = {}

    def add(self, path: str, first: int, last: int, most: int) -> bool:
        """Show lines of a file, 1-based, where they fit whole; say whether they do."""
        lines = self.index.source(path).split("\n")
        shown = self.shown.setdefault(path, set())
        new = {*range(first, min(last, len(lines)) + 1)} - shown
        size = sum(len(lines[n - 1]) + 1 for n in new)
        if size > min(self.left, most):
            return False
        shown |= new
        self.left -= size
        return True

    def text(self, path: str) -> str:
        """Return what is shown of a file, with marks where lines are left out."""
        lines, out, before = self.index.source(path).split("\n"), [], 0
        for n in [*sorted(self.shown[path]), len(lines) + 1]:
            if any(map(str.strip, lines[before : n - 1])):
                out.append(GAP)
            elif before < n - 1:
                out.append("")
            out += lines[n - 1 : n]
            before = n
        return "\n".join(out).strip("\n")


def show_code(wanted: Wanted, index: Index, most: int) -> list[tuple[str, str]]:
    """Return path and code of some definitions, likeliest first, in about `most` characters."""
    pages = Pages(index, most * 4 // 5)
    for one, lines in wanted.items():
        outer = one.qualname.rpartition(".")[0]
        for around in index.definitions_in(one.path):
            if outer and around.qualname == outer:  # the head of its class
                inside = [d.line for d in index.definitions_in(one.path) if d.line > around.line]
                pages.add(one.path, around.line, min(inside) - 1, 600)
        if not pages.add(one.path, one.line, one.end_line, max(int(most * _SHARE), 600)):
            pages.add(one.path, one.line, min(one.line + _HEAD, one.end_line), most)
            for line in lines:
                first, last = max(one.line, line - _AROUND), min(one.end_line, line + _AROUND)
                pages.add(one.path, first, last, most)
    pages.left += most // 5
    for one in list(wanted)[:_NEEDY]:
        for other in _needs(one, index):
            if other.end_line - other.line < _NEEDED:
                pages.add(other.path, other.line, other.end_line, pages.left // 3)
    return [(path, pages.text(path)) for path, lines in pages.shown.items() if lines]


def _needs(one: Definition, index: Index) -> Iterator[Definition]:
    """Yield what a definition cannot be understood without: constructor, bases, names in it."""
    outer = one.qualname.rpartition(".")[0]
    here = [other for other in index.definitions_in(one.path) if other != one]
    heads = [other.signature for other in here if other.qualname == outer]
    text = index.lines(one.path, one.line, one.end_line)
    words = dict.fromkeys(_WORD.findall("\n".join(["__init__", *heads, text])))
    for other in here:
        if other.name in words and other.qualname.rpartition(".")[0] in ("", outer):
            yield other
    for found in map(index.unique_definition, words):
        if found is not None:
            yield found


def named_lines(text: str, index: Index) -> Iterator[tuple[str, int]]:
    """Yield file and line of tracebacks in a report, the deepest first, and of linked lines."""
    for file, line, linked, at in reversed(_FRAME.findall(text)):
        path = index.layout.find_path(file or linked)
        if path is not None and not is_test_path(path):
            yield path, int(line or at)


def show_tests(path: str, index: Index, most: int, names: Sequence[str]) -> str:
    """Return the tests of a file that have most of some names, with what they use.

    Methods that live on ``self`` are no example for a plain function. Fixtures come from the
    conftest files above, too.
    """

    def worth(one: Definition) -> float:
        text = index.lines(path, one.line, one.end_line)
        return sum(name.rpartition(".")[2] in text for name in names) / len(text)

    tests = [one for one in index.definitions_in(path) if one.name.startswith("test") and one.top]
    tests.sort(key=worth, reverse=True)
    shown = show_code({one: [] for one in tests[:2]}, index, most)
    near = [code for file, code in shown if path.startswith(file.removesuffix("conftest.py"))]
    used = {*_WORD.findall("\n".join(near))}
    imports = {one.statement: "" for one in index.imports_in(path) if one.bound in used}
    return "\n\n".join(["\n".join(imports), *near]).strip("\n")
