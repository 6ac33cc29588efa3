"""Which lines of a module are shown when not all of it is; every gap is said."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from pytest_brt.reproduce.slices import GAP, head_end
from pytest_brt.syntax import bound_targets, first_line, is_constant

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Statements outside of functions that are longer than this many lines are data.
_DATA = 4
#: Lines of a longer statement that are told, and names of what is left out in one place.
_TOLD = 3


class Least(IntEnum):
    """How little is shown of what is not shown in full; the first that fits is taken."""

    FIRST_LINES = 0
    #: No methods of classes that nothing speaks of.
    CLASSES = 1
    #: No functions.
    FULL_ONLY = 2
    #: No classes that nothing is shown of, and no statements but the imports that tests use.
    ALONE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """Makes the lines of a module that are shown."""

    lines: Sequence[str]
    #: Functions that are shown in full.
    full: Collection[str]
    #: The lines of those that are shown in part.
    part: Mapping[str, Sequence[str]]
    #: Names that the report speaks of, of classes too.
    named: Collection[str]
    #: Words of the functions that are shown.
    used: Collection[str]
    #: Lines that have what the report spells.
    told: Collection[int] = ()
    tests: bool
    least: Least
    #: Functions of which not even the head is shown; filled on the way.
    left: list[str] = field(default_factory=list)

    def module(self, tree: ast.Module) -> list[str]:
        """Return the lines of the whole module."""
        return self._block(tree.body, "", "")

    def _block(self, body: Sequence[ast.stmt], around: str, indent: str) -> list[str]:
        shown: list[str] = []
        names: list[str] = []
        gap = False
        for node in body:
            lines = self._statement(node, around)
            if lines:
                if gap:
                    shown.append(_gap(indent, names))
                shown += lines
                gap, names = False, []
            elif not _is_silent(node):
                gap = True
                names += bound_targets(node)
        return [*shown, _gap(indent, names)] if gap else shown

    def _statement(self, node: ast.stmt, around: str) -> list[str]:
        if isinstance(node, ast.ClassDef):
            return self._class(node, around)
        if isinstance(node, Function):
            return self._function(node, around)
        first, last = first_line(node), node.end_lineno or node.lineno
        if is_constant(node):
            return []
        if last - node.lineno >= _DATA:
            return self._spelled(node)
        if self.least is Least.ALONE and not self._serves(node):
            return []
        return list(self.lines[first - 1 : last])

    def _spelled(self, node: ast.stmt) -> list[str]:
        """Return the lines of a long statement that have what the report spells, as a comment."""
        found = [n for n in sorted(self.told) if node.lineno <= n <= (node.end_lineno or 0)]
        if not found:
            return []
        texts = [self.lines[n - 1].strip() for n in dict.fromkeys((node.lineno, *found[:_TOLD]))]
        indent = " " * node.col_offset
        return [_gap(indent, []), *(f"{indent}# {text}" for text in texts), _gap(indent, [])]

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
        if self.least is Least.CLASSES and speaks:
            view = replace(self, least=Least.FIRST_LINES)
        indent = " " * (node.col_offset + 4)
        inside = view._block(node.body, f"{name}.", indent)
        bare = all(line.strip().startswith("#") for line in inside)
        if bare and (self.tests or (self.least is Least.ALONE and not speaks)):
            return []
        head = self.lines[first_line(node) - 1 : head_end(node, node.body, self.lines)]
        return ["", *head, *inside, *([f"{indent}..."] if bare else [])]

    def _function(self, node: Function, around: str) -> list[str]:
        name = f"{around}{node.name}"
        if name in self.full:
            return ["", *self.lines[first_line(node) - 1 : node.end_lineno], ""]
        if name in self.part:
            return ["", *self.part[name], ""]
        hidden = self.least >= Least.FULL_ONLY or (around and self.least is Least.CLASSES)
        if self.tests or hidden:
            self.left.append(name)
            return []
        head = self.lines[node.lineno - 1 : head_end(node, node.body, self.lines)]
        return [*head, " " * (node.col_offset + 4) + "..."]


def _gap(indent: str, names: Sequence[str]) -> str:
    """Return the comment for a gap, with the names that are bound in it.

    >>> _gap("    ", ["A", "B"])
    '    # … A, B'
    """
    told = ", ".join(dict.fromkeys(names[:_TOLD])) + (", …" if len(names) > _TOLD else "")
    return f"{indent}{GAP} {told}".rstrip()


def _is_silent(node: ast.stmt) -> bool:
    """Return whether what is shown is the same without `node`: an import, a docstring."""
    return is_constant(node) or isinstance(node, ast.Import | ast.ImportFrom)


def one_gap(text: str) -> str:
    """Return `text` with one gap where several meet, and one blank line in a row."""
    text = re.sub(rf"(?m)^( *){GAP}\n+(?=\1{GAP}(?: |$))", "", text)
    text = re.sub(rf"(?m)^(( *){GAP} .+\n)\n*\2{GAP}\n", r"\1", text)
    return re.sub(r"\n{3,}", "\n\n", text)
