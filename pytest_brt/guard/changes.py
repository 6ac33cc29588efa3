"""What a patch changes: by name, and by the lines whose tests may notice it."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.text import changed_size
from pytest_brt.pysource.parse import first_line, parse_or_empty
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
    lines: list[tuple[str, int]] = []
    for change in changes:
        if change.path.endswith(".py") and (root / change.path).is_file():
            old = (root / change.path).read_text("utf-8", "replace")
            found, numbers = changed_places(old, (change.content or b"").decode("utf-8", "replace"))
            names |= found
            lines.append((change.path, sum(1 << number for number in numbers)))
    return Touched(
        files=tuple(sorted({change.path for change in changes})),
        names=frozenset(name for name in names if not name.startswith("__")),
        size=changed_size(changes, root),
        lines=tuple(lines),
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
    tree = parse_or_empty(before)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    definitions = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    old = before.splitlines()
    names: set[str] = set()
    lines: set[int] = set()
    for replaced in _replaced(old, after.splitlines()):
        for line in replaced or [replaced.start - 1]:
            around = [d for d in definitions if first_line(d) <= line <= (d.end_lineno or 0)]
            names.update(node.name for node in around)
            inner = max(around, key=lambda node: node.lineno, default=None)
            if inner is None or isinstance(inner, ast.ClassDef) or line <= inner.lineno:
                lines.update(range(1, len(old) + 1))
            else:
                lines.update(replaced or range(inner.lineno, (inner.end_lineno or 0) + 1))
    starts: dict[int, int] = {}
    for node in ast.walk(tree):  # a statement comes before those in it
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            starts |= dict.fromkeys(lines.intersection(range(node.lineno, end)), node.lineno)
    return names, lines.union(starts.values())


def _replaced(old: list[str], new: list[str]) -> Iterator[range]:
    """Yield which lines of a text are replaced in another one, from 1; none before what is added.

    A patch changes little of a file, and comparing takes time that grows with its square.
    """
    same = _shared(old, new)
    before, after = old[same:], new[same:]
    tail = _shared(before[::-1], after[::-1])
    before, after = before[: len(before) - tail], after[: len(after) - tail]
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for kind, start, end, _, _ in matcher.get_opcodes():
        if kind != "equal":
            yield range(same + start + 1, same + end + 1)


def _shared(one: list[str], other: list[str]) -> int:
    """Return how many lines two texts begin with in common."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in pairs)
