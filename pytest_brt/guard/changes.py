"""What a patch changes: by name, and by the lines whose tests may notice it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from pytest_brt.guard.changed_lines import changed_lines, edits, statement_starts
from pytest_brt.patches import apply_patch, canonical_diff
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.pysource.parse import covers, first_line, parse_or_empty
from pytest_brt.types import FileChange, Patch

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Reach(IntEnum):
    """How much a test has to do with a change."""

    NONE = 0
    #: It runs code of a module that changes outside of definitions.
    FILE = 1
    #: It executes what is changed.
    LINE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The part of a project that a patch changes."""

    #: "path::qualname" of each definition changed that was there before; "path::" for code
    #: outside of definitions, and for files that are not Python.
    places: tuple[str, ...]
    #: Lines added and removed.
    size: int
    #: Of each changed file that was there before: its path, and the lines of it whose execution
    #: shows that a test has to do with the change (see `Concerned`), as the bits of a number.
    lines: tuple[tuple[str, int], ...] = ()
    #: Files of which code outside of definitions changes: whatever runs them has run that.
    loaded: tuple[str, ...] = ()

    def reach(self, ran: Mapping[str, int]) -> Reach:
        """Say how much a test has to do with the change that executes lines, by file."""
        if any(ran.get(path, 0) & lines for path, lines in self.lines):
            return Reach.LINE
        if any(ran.get(path) for path in self.loaded):
            return Reach.FILE
        return Reach.NONE

    @property
    def files(self) -> tuple[str, ...]:
        """The files changed, each once."""
        return tuple(dict.fromkeys(place.partition("::")[0] for place in self.places))

    @property
    def names(self) -> frozenset[str]:
        """The names by which tests may speak of what is changed: no dunders, no `self`."""
        parts = (place.partition("::")[2].split(".") for place in self.places)
        return frozenset(
            name
            for names in parts
            for name in names
            if name and not (name.startswith("__") and name.endswith("__"))
        )


def touched_by(changes: Sequence[FileChange], root: Path) -> Touched:
    """Return the part of the tree at `root` that `changes` touch.

    Raises:
        PatchProblem: git cannot compare the files.
    """
    places: set[str] = set()
    lines: list[tuple[str, int]] = []
    loaded: list[str] = []
    for change in changes:
        is_there = (root / change.path).is_file()
        old = (root / change.path).read_text("utf-8", "replace") if is_there else ""
        new = (change.content or b"").decode("utf-8", "replace")
        places |= {f"{change.path}::{name}" for name in _definitions(change.path, old, new)}
        if not is_there:
            continue
        concerned = concerned_by(old, new)
        lines.append((change.path, sum(1 << number for number in concerned.lines)))
        if concerned.module:
            loaded.append(change.path)
    return Touched(
        places=tuple(sorted(places)),
        size=_size(canonical_diff(changes, root)),
        lines=tuple(lines),
        loaded=tuple(loaded),
    )


def touched_of(patches: Iterable[Patch], root: Path) -> Iterator[Touched]:
    """Yield what patches change, but for those that do not apply."""
    for patch in patches:
        with suppress(PatchProblem):
            yield touched_by(apply_patch(patch, root).changes, root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """The code of a file as it was that has to do with a change of the file."""

    #: Where lines of a function are replaced or go, these lines. Where something is added to a
    #: function or to a class, or its first lines change, all lines of that function or class.
    lines: frozenset[int]
    #: Whether code outside of definitions changes.
    module: bool


def concerned_by(before: str, after: str) -> Concerned:
    r"""Return which code of `before` has to do with its becoming `after`; comments do not count.

    >>> concerned_by("def f():\n    a()\n    b()\n", "def f():\n    a()\n    c()\n")
    Concerned(lines=frozenset({3}), module=False)
    >>> concerned_by("x = 1\ndef f():\n    a()\n", "x = 2\ndef f():\n    a()\n    b()\n")
    Concerned(lines=frozenset({2, 3}), module=True)
    """
    old, new = before.splitlines(), after.splitlines()
    scopes = [node for _, node in _spans(parse_or_empty(before))]
    lines: set[int] = set()
    around: list[_Definition | None] = []
    for edit in edits(old, new):
        replaced = [n for n in range(edit.old_start + 1, edit.old_end + 1) if _is_code(old[n - 1])]
        for line in replaced:
            scope = _scope_of(scopes, line)
            if scope is None or isinstance(scope, ast.ClassDef) or line <= scope.lineno:
                around.append(scope)
            else:
                lines.add(line)
        if not replaced:
            added = [line for line in new[edit.new_start : edit.new_end] if _is_code(line)]
            around += [_scope_of_gap(scopes, edit.old_start, added[0])] if added else []
    for node in around:
        if node is not None:
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return Concerned(
        lines=frozenset(lines | statement_starts(before, lines)), module=None in around
    )


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _scope_of(scopes: Iterable[_Definition], line: int) -> _Definition | None:
    """Return the innermost definition around a line, None for the module."""
    around = [node for node in scopes if first_line(node) <= line <= (node.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno, default=None)


def _scope_of_gap(scopes: Iterable[_Definition], line: int, added: str) -> _Definition | None:
    """Return the innermost definition to which something is added below a line."""
    indent = len(added) - len(added.lstrip())
    around = [node for node in scopes if covers(node, line) and node.col_offset < indent]
    return max(around, key=lambda node: node.lineno, default=None)


def _definitions(path: str, before: str, after: str) -> Iterator[str]:
    """Yield the innermost definitions around changed lines that the file had before."""
    lines = changed_lines(before, after) if path.endswith(".py") else ()
    if not lines:
        yield ""
        return
    known = {name for name, _ in _spans(parse_or_empty(before))}
    spans = list(_spans(parse_or_empty(after)))
    for line in lines:
        around = [
            (node.lineno, name)
            for name, node in spans
            if first_line(node) <= line <= (node.end_lineno or 0) and name in known
        ]
        yield max(around)[1] if around else ""


def _spans(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, _Definition]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Definition):
            name = f"{prefix}{node.name}"
            yield name, node
            yield from _spans(node, f"{name}.")
        else:
            yield from _spans(node, prefix)


def _size(diff: str) -> int:
    return sum(
        line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- "))
        for line in diff.splitlines()
    )
