"""What a patch changes: of the code, by name and by the lines that show it; and of the tests."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from pytest_brt.errors import PatchProblem
from pytest_brt.patches import apply_patch
from pytest_brt.project.pytest_config import USUAL, CollectionPatterns
from pytest_brt.pysource.parse import Function, first_line, is_test_class, parse_or_empty
from pytest_brt.types import FileChange, Patch, TestRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The part of a project that a patch changes."""

    #: The files changed.
    files: tuple[str, ...]
    #: The names of the functions and classes in which something changes.
    names: frozenset[str] = frozenset()
    #: Of each changed file that was there before: its path, and the lines of it whose execution
    #: shows that a test has to do with the change, as the bits of a number.
    lines: tuple[tuple[str, int], ...] = ()

    def is_run(self, run: TestRun) -> bool:
        """Say whether a test that told which lines it executes has to do with the change."""
        lines = dict(self.lines)
        return any(int(mask, 16) & lines.get(path, 0) for path, mask in run.ran)


def touched_by(changes: Sequence[FileChange], root: Path) -> Touched:
    """Return the part of the tree at `root` that `changes` touch."""
    names: set[str] = set()
    lines: dict[str, int] = {}
    for change in changes:
        file = root / change.path
        if change.path.endswith(".py") and file.is_file():
            old = file.read_text("utf-8", "replace")
            inside, numbers = changed_places(
                old, (change.content or b"").decode("utf-8", "replace")
            )
            names |= inside
            lines[change.path] = sum(1 << number for number in numbers)
    return Touched(
        files=tuple(sorted(change.path for change in changes)),
        names=frozenset(names),
        lines=tuple(lines.items()),
    )


def touched_of(patches: Iterable[Patch], root: Path) -> Iterator[Touched]:
    """Yield what patches change, but for those that do not apply."""
    for patch in patches:
        with suppress(PatchProblem):
            yield touched_by(apply_patch(patch, root).changes, root)


def changed_places(before: str, after: str) -> tuple[set[str], set[int]]:
    r"""Return which functions and classes of `before` change, and which lines of it matter.

    These are the bodies of the innermost functions in which something changes, and all of the file
    where something changes outside of them.

    >>> changed_places("def f():\n    a()\n    b()\n", "def f():\n    a()\n    c()\n")
    ({'f'}, {2, 3})
    """
    tree = parse_or_empty(before)
    # A definition comes before those in it.
    definitions = [d for d in ast.walk(tree) if isinstance(d, Function | ast.ClassDef)]
    names: set[str] = set()
    lines: set[int] = set()
    matcher = SequenceMatcher(None, before.splitlines(), after.splitlines())
    for kind, start, end, _, _ in matcher.get_opcodes():
        # What is added stands after a line; the first one has the number 1.
        for line in range(start + 1, end + 1) or [start] if kind != "equal" else ():
            around = [d for d in definitions if first_line(d) <= line <= (d.end_lineno or 0)]
            names.update(node.name for node in around)
            first, last = 1, len(before.splitlines())
            if around and isinstance(around[-1], Function):
                first, last = around[-1].body[0].lineno, around[-1].end_lineno or 0
            lines.update(range(first, last + 1))
    return names, lines


def altered_tests(
    before: bytes | None, after: bytes, collected: CollectionPatterns = USUAL
) -> dict[str, str]:
    """Return the tests of a file that are new in it or changed: the code of each by its node.

    `before` is None for a new file. Where what stands beside the tests is changed, a table, a
    fixture or a ``setUp``, all of them are.
    """
    old = [*_parts(parse_or_empty(before or b""), collected)]
    new = [*_parts(parse_or_empty(after), collected)]
    old_rest, new_rest = ([code for node, code in parts if not node] for parts in (old, new))
    known = set(old) if before is None or old_rest == new_rest else set()
    return {node: code for node, code in new if node and (node, code) not in known}


def _parts(
    tree: ast.AST, collected: CollectionPatterns, above: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the node of each test function, "" for what stands beside them, with the code."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef) and (
            collected.has_class(node.name) or is_test_class(node)
        ):
            yield from _parts(node, collected, (*above, node.name))
        elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler):
            yield from _parts(node, collected, above)
        elif isinstance(node, Function):
            name = "::".join((*above, node.name))
            yield name if collected.has_node(name) else "", ast.unparse(node)
        # Imports only serve the tests, and docstrings say what they are.
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
            yield "", ast.unparse(node)
