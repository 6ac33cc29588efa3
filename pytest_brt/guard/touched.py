"""What a patch changes, by the names that a project's tests use for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.patches import canonical_diff, touched_lines
from pytest_brt.syntax import parse
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

    @property
    def files(self) -> tuple[str, ...]:
        """The files changed, each once."""
        return tuple(dict.fromkeys(place.partition("::")[0] for place in self.places))

    @property
    def names(self) -> frozenset[str]:
        """The names by which tests may speak of what is changed: no dunders, no `self`."""
        parts = (place.partition("::")[2].split(".") for place in self.places)
        return frozenset(name for names in parts for name in names if _speaks(name))


def touched_by(applied: AppliedPatch, root: Path) -> Touched:
    """Return what `applied` changes of the tree at `root`.

    Raises:
        PatchProblem: git cannot compare the files.
    """
    diff = canonical_diff(applied.changes, root)
    lines = touched_lines(diff)
    places: dict[str, None] = {}
    for change in applied.changes:
        numbers = lines.get(change.path, ())
        for name in _definitions(root / change.path, change.content, numbers):
            places[f"{change.path}::{name}"] = None
    return Touched(places=tuple(sorted(places)), size=_size(diff))


def _definitions(path: Path, after: bytes | None, lines: tuple[int, ...]) -> Iterator[str]:
    """Yield the innermost definitions around `lines` that the file had before."""
    before = _parse(path.read_bytes()) if path.is_file() else None
    now = _parse(after or b"")
    if path.suffix != ".py" or before is None or now is None or not lines:
        yield ""
        return
    known = {name for name, _ in _spans(before)}
    spans = list(_spans(now))
    for line in lines:
        around = [
            (node.lineno, name)
            for name, node in spans
            if _start(node) <= line <= (node.end_lineno or 0) and name in known
        ]
        yield max(around)[1] if around else ""


def _parse(content: bytes) -> ast.Module | None:
    try:
        return parse(content)
    except (SyntaxError, ValueError):
        return None


def _spans(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, _Definition]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Definition):
            name = f"{prefix}{node.name}"
            yield name, node
            yield from _spans(node, f"{name}.")
        else:
            yield from _spans(node, prefix)


def _start(node: _Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _size(diff: str) -> int:
    return sum(
        line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- "))
        for line in diff.splitlines()
    )


def _speaks(name: str) -> bool:
    return bool(name) and not (name.startswith("__") and name.endswith("__"))
