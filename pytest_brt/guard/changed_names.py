"""What a patch changes, by the names that a project's tests use for it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.touched import changed_lines
from pytest_brt.guard.suite import ExistingTest, read_doctests
from pytest_brt.patches import canonical_diff
from pytest_brt.syntax import first_line, parse_or_empty
from pytest_brt.types import AppliedPatch

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The part of a project that a patch changes."""

    #: "path::qualname" of each definition changed that was there before; "path::" for code
    #: outside of definitions, and for files that are not Python.
    places: tuple[str, ...]
    #: Lines added and removed.
    size: int
    #: Of each changed file that was there before: its path, and the lines of it that are changed
    #: or next to what is added, as the bits of a number.
    lines: tuple[tuple[str, int], ...] = ()
    #: Whether something outside of functions changes, which importing the module executes.
    outside: bool = False
    #: The examples in docstrings of the changed modules that are the same before and after.
    examples: tuple[ExistingTest, ...] = ()

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


def touched_by(applied: AppliedPatch, root: Path) -> Touched:
    """Return what `applied` changes of the tree at `root`.

    Raises:
        PatchProblem: git cannot compare the files.
    """
    places: dict[str, None] = {}
    before: list[tuple[str, int]] = []
    outside = False
    examples: list[ExistingTest] = []
    for change in applied.changes:
        is_there = (root / change.path).is_file()
        text = (root / change.path).read_text("utf-8", "replace") if is_there else ""
        new = (change.content or b"").decode("utf-8", "replace")
        for name in _definitions(change.path, text, new):
            places[f"{change.path}::{name}"] = None
        if is_there:
            old = changed_lines(new, text)
            before.append((change.path, sum(1 << number for number in old)))
            outside = outside or not _in_functions(text, old)
            if change.path.endswith(".py") and not is_test_path(change.path):
                now = set(read_doctests(change.path, new, root))
                examples += [t for t in read_doctests(change.path, text, root) if t in now]
    return Touched(
        places=tuple(sorted(places)),
        size=_size(canonical_diff(applied.changes, root)),
        lines=tuple(before),
        outside=outside,
        examples=tuple(examples),
    )


def _in_functions(text: str, lines: Iterable[int]) -> bool:
    """Say whether all of `lines` that are not blank lie in functions."""
    spans = _spans(parse_or_empty(text))
    functions = [node for _, node in spans if not isinstance(node, ast.ClassDef)]
    written = text.splitlines()
    return all(
        any(node.lineno < line <= (node.end_lineno or 0) for node in functions)
        for line in lines
        if written[line - 1].strip()
    )


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
