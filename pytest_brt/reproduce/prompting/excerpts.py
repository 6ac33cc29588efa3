"""The code that a model is shown: the likeliest definitions whole, of long ones windows of lines.

A window begins at a line with identifiers of the report. Around it stand the heads of what it is
in, and a gap says where lines are left out, so that the rest is not taken for all of it.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from pytest_brt.code.file_facts import Definition, DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.words import terms_of
from pytest_brt.syntax.parse import IMPORTS, is_constant, parse_or_empty
from pytest_brt.types import Place

#: A gap, where lines are left out; what stands around it may need what is not shown.
GAP = "# …"
#: Share of the room that is left which one place may take, and what any may that has the room.
_SHARE, _SMALL = 0.4, 500
#: Characters of what is outside of functions.
_PART = 500
#: Room below which nothing more is shown, and characters that a gap costs.
_LEAST, _GAP = 250, 12
#: Lines of a window before and after the line that it is shown for.
_BEFORE, _AFTER = 3, 6
#: Lines of the head of a definition, at most.
_HEAD = 12
#: Characters of the tests that a prompt shows, tests among them, and their share of the room.
MOST_TESTS, _TESTS, _OWN = 2_000, 3, 0.65
#: Lines of a value that tests use.
_VALUE = 8
_METHOD_OF = re.compile(r"\b(?:self|cls)\.\w")


def show_suspects(
    suspects: Iterable[Place], index: Index, most: int, worths: Mapping[str, float]
) -> tuple[tuple[str, str], ...]:
    """Return path and code of what is suspected, the likeliest first, in about `most` characters.

    `worths` is what each term of the report is worth, for what is too long to be shown whole.
    """
    pages: dict[str, _Page] = {}
    for suspect in suspects:
        if most < _LEAST:
            break
        if suspect.path not in pages:
            pages[suspect.path] = _Page(suspect.path, index, worths)
        share = max(int(most * _SHARE), min(_SMALL, most))
        most -= pages[suspect.path].add(suspect.function, share)
    texts = ((path, page.text()) for path, page in pages.items())
    return tuple((path, text) for path, text in texts if text)


def show_file(path: str, index: Index, most: int, worths: Mapping[str, float]) -> str:
    """Return the file `path`, or of a long one the functions that count most; "" when it is gone.

    Of long tests, what the shown ones use comes with them (`show_tests`).
    """
    page = _Page(path, index, worths)
    text = "\n".join(page.lines)
    if len(text) <= most:
        return text
    if is_test_path(path):
        return show_tests(path, index, most, worths, imports=True)
    for definition in page.ranked():
        if most < _LEAST:
            break
        most -= page.add(definition.qualname, max(int(most * _SHARE), min(_SMALL, most)))
    return page.text()


def show_tests(
    path: str, index: Index, most: int, worths: Mapping[str, float], *, imports: bool = False
) -> str:
    """Return the tests of the file `path` that are most like the report, as far as there is room.

    With them come the helpers, fixtures and values of the file that they use, and the imports
    where these are wanted. Methods that live on ``self`` are no example for a plain function.
    """
    page = _Page(path, index, worths)
    ranked = page.ranked()
    tests = [one for one in ranked if one.name.startswith("test")]
    left = int(most * _OWN)
    for test in [one for one in tests if not _METHOD_OF.search(page.source(one))][:_TESTS]:
        if left >= _LEAST:
            left -= page.add(test.qualname, left)
    left += most - int(most * _OWN)
    for helper in ranked:
        if helper not in tests and helper.name in page.words() and len(page.source(helper)) <= left:
            left -= page.add(helper.qualname, left)
    used = page.words()
    for value in page.values:
        if value.name in used and value.end_line - value.line < _VALUE:
            page.shown |= {*range(value.line - 1, value.end_line)}
    if not imports:
        return page.text()
    found = (item for item in index.imports_in(path) if item.top and item.bound in used)
    lines = dict.fromkeys(item.statement for item in found)
    return "\n".join([*lines, "", page.text()]).strip("\n")


def worth_of(text: str, worths: Mapping[str, float]) -> float:
    """Return how much a few lines have to do with what `worths` are the terms of."""
    found = sum(worths.get(term, 0.0) for term in terms_of(text))
    return found / math.sqrt(2 + text.count("\n"))


class _Page:
    """The lines of a file that are shown; nothing of one that is gone."""

    def __init__(self, path: str, index: Index, worths: Mapping[str, float]) -> None:
        self.worths = worths
        try:
            self.lines: Sequence[str] = index.source(path).split("\n")
        except OSError:
            self.lines = ()
        every = index.definitions_in(path) if self.lines else ()
        self.values = [one for one in every if one.kind is DefinitionKind.VARIABLE and one.top]
        self.known = {one.qualname: one for one in every if one.kind is not DefinitionKind.VARIABLE}
        #: Indexes into `lines`.
        self.shown: set[int] = set()

    def source(self, definition: Definition) -> str:
        """Return the text of a definition."""
        return "\n".join(self.lines[definition.line - 1 : definition.end_line])

    def words(self) -> frozenset[str]:
        """Return the words of what is shown."""
        return frozenset(re.findall(r"\w+", "\n".join(self.lines[n] for n in self.shown)))

    def ranked(self) -> list[Definition]:
        """Return the functions, those first that have most to do with the report."""
        functions = [d for d in self.known.values() if d.kind is not DefinitionKind.CLASS]
        worth = {d.qualname: worth_of(self.source(d), self.worths) for d in functions}
        return sorted(functions, key=lambda d: (-worth[d.qualname], d.qualname))

    def add(self, name: str, most: int) -> int:
        """Show the definition `name`, or what is outside of any for "", in `most` characters.

        Returns:
            The characters that it takes: 0 where it is shown already, or not known.
        """
        before = self._length(self.shown)
        definition = self.known.get(name)
        if definition is None:
            if not name:
                lines = self._outside(range(len(self.lines)), "")
                own = [n for n in lines if not self.lines[n].startswith(IMPORTS)]
                self._add_windows(own, min(most, _PART))
        elif self._length(self._span(definition)) <= most:
            self.shown |= {*self._span(definition)}
        else:
            self._add_windows(self._own(definition), most)
        if self._length(self.shown) == before:
            return 0
        for outer in self.known.values():
            if f"{name}.".startswith(f"{outer.qualname}."):
                self.shown |= {*self._head(outer)}
        return self._length(self.shown) - before + _GAP

    def _span(self, definition: Definition) -> range:
        """Return the lines of a definition, comments right above included."""
        first = definition.line - 1
        while first and self.lines[first - 1].lstrip().startswith("#"):
            first -= 1
        return range(first, definition.end_line)

    def _head(self, definition: Definition) -> range:
        """Return the lines of a definition up to its colon."""
        first = definition.line - 1
        for last in range(first, min(definition.end_line, first + _HEAD)):
            if re.search(r":\s*(?:#.*)?$", self.lines[last]):
                return range(first, last + 1)
        return range(first, first + 1)

    def _own(self, definition: Definition) -> list[int]:
        """Return the lines of a definition without its docstring, which has all words of a report.

        Of a class the bodies of its methods are left out, too.
        """
        lines = [*self._span(definition)]
        spoken = self._docstring(definition)
        if definition.kind is DefinitionKind.CLASS:
            lines = self._outside(lines, f"{definition.qualname}.")
        return [n for n in lines if n not in spoken]

    def _docstring(self, definition: Definition) -> range:
        """Return the lines of a docstring, none where it stands on one line with code."""
        first = self._head(definition).stop
        body = textwrap.dedent("\n".join(self.lines[first : definition.end_line]))
        (node, *_) = parse_or_empty(body).body or (None,)
        if node is None or not is_constant(node):
            return range(0)
        return range(first + node.lineno - 1, first + (node.end_lineno or node.lineno))

    def _outside(self, lines: Sequence[int], start: str) -> list[int]:
        """Return `lines` without bodies of definitions whose names have this `start`."""
        inner = [one for one in self.known.values() if one.qualname.startswith(start)]
        bodies = {n for one in inner for n in range(self._head(one).stop, one.end_line)}
        return [n for n in lines if n not in bodies]

    def _add_windows(self, lines: Sequence[int], most: int) -> None:
        """Show the windows of `lines` that count most; all where there is room."""
        if self._length(lines) <= most:
            self.shown |= {*lines}
            return
        worth = {n: worth_of(self.lines[n], self.worths) for n in lines}
        allowed = {*lines}
        for start in sorted(lines, key=lambda n: (-worth[n], n)):
            if worth[start] <= 0:
                break
            window = {*range(start - _BEFORE, start + _AFTER + 1)} & allowed
            size = self._length(window - self.shown) + _GAP
            if size <= most:
                self.shown |= window
                most -= size

    def _length(self, lines: Iterable[int]) -> int:
        return sum(len(self.lines[n]) + 1 for n in lines)

    def text(self) -> str:
        """Return what is shown, as code."""
        found: list[str] = []
        before = -1
        for n in sorted(self.shown):
            between = self.lines[before + 1 : n]
            if found and any(line.strip() for line in between):
                indent = len(self.lines[n]) - len(self.lines[n].lstrip())
                found.append(" " * indent + GAP)
            elif found and between:
                found.append("")
            found.append(self.lines[n])
            before = n
        if found and any(line.strip() for line in self.lines[before + 1 :]):
            found.append(GAP)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(found)).strip("\n")
