"""What a patch changes: of the code, by name and by the lines that show it; and of the tests."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from pytest_brt.errors import PatchProblem
from pytest_brt.patches.apply import apply_patch
from pytest_brt.project.pytest_config import CollectionPatterns
from pytest_brt.pysource.parse import (
    IMPORTS,
    Function,
    code_of,
    decode,
    is_test_class,
    parse_or_empty,
)
from pytest_brt.types import FileChange, Patch
from pytest_brt.types.note import value

#: The lines of files that a test executes, as `TestRun` has them.
Executed = tuple[tuple[str, str], ...]
#: How code begins that only serves tests, or says what they are.
_IDLE = (*IMPORTS, "'", '"')


@value
class Touched:
    """The part of a project that a patch changes."""

    #: The files changed.
    files: tuple[str, ...]
    #: The names of the functions and classes in which something changes.
    names: tuple[str, ...] = ()
    #: Of each changed file that was there before: its path, and the lines of it whose execution
    #: shows that a test has to do with the change, as the bits of a number.
    lines: tuple[tuple[str, int], ...] = ()

    def is_run(self, ran: Executed) -> bool:
        """Say whether a test that executes these lines has to do with the change."""
        lines = dict(self.lines)
        return any(int(mask, 16) & lines.get(path, 0) for path, mask in ran)


def touched_by(changes: Sequence[FileChange], root: Path) -> Touched:
    """Return the part of the tree at `root` that `changes` touch."""
    names: set[str] = set()
    lines: dict[str, int] = {}
    for change in changes:
        file = root / change.path
        if change.path.endswith(".py") and file.is_file():
            inside, bits = changed_places(file.read_bytes(), change.content or b"")
            names |= inside
            lines[change.path] = bits
    return Touched(
        files=tuple(sorted(change.path for change in changes)),
        names=tuple(sorted(names)),
        lines=tuple(lines.items()),
    )


def touched_of(patches: Iterable[Patch], root: Path) -> Iterator[Touched]:
    """Yield what patches change, but for those that do not apply."""
    for patch in patches:
        with suppress(PatchProblem):
            yield touched_by(apply_patch(patch, root).changes, root)


def changed_places(before: bytes, after: bytes) -> tuple[set[str], int]:
    r"""Return which functions and classes of a file change, and the bits of lines that matter.

    These are the bodies of the functions in which something changes, and all of the file where
    something changes outside of them.

    >>> changed_places(b"def f():\n    a()\n    b()\n", b"def f():\n    a()\n    c()\n")
    ({'f'}, 12)
    """
    old, new = _places(before), _places(after)
    changed = old.keys() ^ new.keys()
    names = {part for name, _ in changed for part in name.split("::") if part}
    known = {name for name, _ in old}
    bodies = old | new
    bits = 0
    for name, code in changed:
        if name not in known or not bodies[name, code]:
            return names, (2 << len(before.splitlines())) - 2
        bits |= old.get((name, code), 0)
    return names, bits


def changed_code(before: bytes, after: bytes) -> str:
    """Return the code of the functions and statements that are new in a file or changed.

    What is in a class comes without its head; a file that is no Python comes as it is.
    """
    old, new = _places(before), _places(after)
    return "\n".join(part[1] for part in new if part not in old) if new else decode(after)


@lru_cache  # all patches change the same files
def _places(text: bytes) -> dict[tuple[str, str], int]:
    return dict(_parts(parse_or_empty(text)))


def altered_tests(
    before: bytes | None, after: bytes, collected: CollectionPatterns
) -> dict[str, str]:
    """Return the tests of a file that are new in it or changed: the code of each by its node.

    `before` is None for a new file. Where what stands beside the tests is changed, a table, a
    fixture or a ``setUp``, all of them are.
    """

    def has_tests(node: ast.ClassDef) -> bool:
        return collected.has_class(node.name) or is_test_class(node)

    old, new = (
        dict(_parts(parse_or_empty(text), has_tests)) for text in (before or b"", after)
    )
    tests = {part for part in old | new if collected.has_node(part[0])}
    others = (old.keys() ^ new.keys()) - tests
    known = set() if any(not code.startswith(_IDLE) for _, code in others) else old.keys()
    return {name: code for name, code in new if (name, code) in tests - known}


def _parts(
    tree: ast.AST,
    is_entered: Callable[[ast.ClassDef], bool] = lambda _: True,
    above: str = "",
) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield the name and code of each function, with the bits of its lines.

    What stands beside them is called "" or "Class::", and has no lines.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef) and is_entered(node):
            yield from _parts(node, is_entered, f"{above}{node.name}::")
        elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler):
            yield from _parts(node, is_entered, above)
        elif isinstance(node, Function):
            bits = (2 << (node.end_lineno or 0)) - (1 << node.body[0].lineno)
            yield (above + node.name, code_of(node)), bits
        else:
            yield (above, code_of(node)), 0
