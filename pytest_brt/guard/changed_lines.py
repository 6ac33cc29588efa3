"""Which lines a change of the tree is about, for seeing that they were run."""

from __future__ import annotations

import ast
import difflib
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_brt.pysource.parse import parse_or_empty


def changed_lines(old: str, new: str) -> tuple[int, ...]:
    r"""Return the lines of `new` that show, when executed, that a change was reached.

    Where lines were only taken away, these are the neighbours of the gap. A line within a
    statement counts as the statement's first line too, which is what Python reports.

    >>> changed_lines("a = 1\nb = 2\n", "a = 1\nb = (\n    3\n)\n")
    (2, 3, 4)
    """
    after = new.splitlines()
    lines: set[int] = set()
    for edit in edits(old.splitlines(), after):
        start, end = edit.new_start, edit.new_end
        lines.update(range(start + 1, end + 1) if end > start else (start, start + 1))
    starts = statement_starts(new, lines)
    return tuple(sorted(line for line in lines | starts if 1 <= line <= len(after)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Lines that take the place of others, from 0; one of the two sides may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def edits(old: Sequence[str], new: Sequence[str]) -> Iterator[Edit]:
    """Yield where the lines of two texts differ."""
    # A patch changes little of a file, and comparing takes time that grows with its square.
    same = shared(old, new)
    before, after = old[same:], new[same:]
    tail = shared(before[::-1], after[::-1])
    before, after = before[: len(before) - tail], after[: len(after) - tail]
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind != "equal":
            yield Edit(
                old_start=old_start + same,
                old_end=old_end + same,
                new_start=new_start + same,
                new_end=new_end + same,
            )


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines two texts begin with in common."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def statement_starts(source: str, lines: Iterable[int]) -> set[int]:
    """Return the first line of the innermost statement around each line."""
    ordered = sorted(lines)
    best: dict[int, int] = {}
    nodes: list[ast.AST] = [parse_or_empty(source)]
    for node in nodes:  # which grows meanwhile: a statement comes before those in it
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno
            own = _between(ordered, node.lineno, last or node.lineno)
            best.update(dict.fromkeys(own, node.lineno))
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            for child in getattr(node, name, ()):
                first, end = getattr(child, "lineno", 1), getattr(child, "end_lineno", sys.maxsize)
                if _between(ordered, first, end):
                    nodes.append(child)
    return set(best.values())


def _between(ordered: Sequence[int], first: int, last: int) -> Sequence[int]:
    return ordered[bisect_left(ordered, first) : bisect_right(ordered, last)]
