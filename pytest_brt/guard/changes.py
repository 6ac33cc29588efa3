"""What a patch changes: by name, and by the lines whose tests may notice it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from pytest_brt.errors import PatchProblem
from pytest_brt.patches import apply_patch
from pytest_brt.pysource.parse import Function, first_line, parse_or_empty
from pytest_brt.types import FileChange, Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The part of a project that a patch changes."""

    #: The files changed.
    files: tuple[str, ...]
    #: The names of the functions and classes in which something changes.
    names: frozenset[str] = frozenset()
    #: Lines added and removed.
    size: int = 0
    #: Of each changed file that was there before: its path, and the lines of it whose execution
    #: shows that a test has to do with the change, as the bits of a number.
    lines: tuple[tuple[str, int], ...] = ()

    def is_run(self, executed: Mapping[str, int]) -> bool:
        """Say whether a test that executes lines, by file, has to do with the change."""
        return any(executed.get(path, 0) & lines for path, lines in self.lines)


def touched_by(changes: Sequence[FileChange], root: Path) -> Touched:
    """Return the part of the tree at `root` that `changes` touch."""
    names: set[str] = set()
    lines: dict[str, int] = {}
    size = 0
    for change in changes:
        file = root / change.path
        old = file.read_text("utf-8", "replace") if file.is_file() else ""
        new = (change.content or b"").decode("utf-8", "replace")
        size += sum(len(gone) + added for gone, added in _replaced(old, new))
        if change.path.endswith(".py") and old:
            inside, numbers = changed_places(old, new)
            names |= inside
            lines[change.path] = sum(1 << number for number in numbers)
    return Touched(
        files=tuple(sorted(change.path for change in changes)),
        names=frozenset(name for name in names if not name.startswith("__")),
        size=size,
        lines=tuple(lines.items()),
    )


def touched_of(patches: Iterable[Patch], root: Path) -> Iterator[Touched]:
    """Yield what patches change, but for those that do not apply."""
    for patch in patches:
        with suppress(PatchProblem):
            yield touched_by(apply_patch(patch, root).changes, root)


def changed_places(before: str, after: str) -> tuple[set[str], set[int]]:
    r"""Return which functions and classes of `before` change, and which lines of it matter.

    These are the lines that are replaced; of a function to which something is added, all lines; and
    all of the file where something changes outside of functions. A line within a statement counts
    as the statement's first line too, which is what Python reports.

    >>> changed_places("def f():\n    a()\n    b()\n", "def f():\n    a()\n    c()\n")
    ({'f'}, {3})
    """
    nodes = [*ast.walk(parse_or_empty(before))]  # a statement comes before those in it
    definitions = [node for node in nodes if isinstance(node, Function | ast.ClassDef)]
    names: set[str] = set()
    lines: set[int] = set()
    for gone, _ in _replaced(before, after):
        for line in gone or [gone.start - 1]:
            around = [d for d in definitions if first_line(d) <= line <= (d.end_lineno or 0)]
            names.update(node.name for node in around)
            inner = around[-1] if around else None
            if not isinstance(inner, Function) or line <= inner.lineno:
                lines.update(range(1, len(before.splitlines()) + 1))
            else:
                lines.update(gone or range(inner.lineno, (inner.end_lineno or 0) + 1))
    for node in nodes:
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            if lines.intersection(range(node.lineno, end)):
                lines.add(node.lineno)
    return names, lines


def _replaced(before: str, after: str) -> Iterator[tuple[range, int]]:
    """Yield which lines of a text are replaced, from 1, none before what is added; by how many."""
    matcher = SequenceMatcher(None, before.splitlines(), after.splitlines())
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind != "equal":
            yield range(start + 1, end + 1), last - first
