"""A change of a file, as the project and a person see it; a test as a file of its own."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass

from pytest_brt.code.source import SourceText, parse_source, read_source
from pytest_brt.errors import EditProblem
from pytest_brt.types import FileChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of one file."""

    path: str
    #: None when there was no such file.
    before: bytes | None
    after: bytes

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as git shows it; "" when there is none."""
        if not self.changes:
            return ""
        old = _lines(self.before or b"")
        new = _lines(self.after)
        before = "/dev/null" if self.before is None else f"a/{self.path}"
        head = f"diff --git a/{self.path} b/{self.path}\n"
        head += "new file mode 100644\n" if self.before is None else ""
        body = difflib.unified_diff(old, new, before, f"b/{self.path}")
        return head + "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in body
        )

    def change(self) -> FileChange:
        """Return the change as a tree takes it."""
        return FileChange(path=self.path, content=self.after)


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "surrogateescape")
    return [line + "\n" for line in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if not text.endswith("\n") and text else []
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A test that was given its place."""

    edit: Edit
    #: The tests below the file, as in "test_a" or "TestX::test_a", in the order given.
    nodes: tuple[str, ...]


def new_file(source: str, path: str) -> Placement:
    """Return the test module `source` as a file of its own.

    Raises:
        EditProblem: it is not Python, has no test in it, or imports relatively.
    """
    nodes = read_test(source)[1]
    text = source if source.endswith("\n") else f"{source}\n"
    return Placement(edit=Edit(path=path, before=None, after=text.encode()), nodes=nodes)


def read_test(source: str) -> tuple[SourceText, tuple[str, ...]]:
    """Return a test module that stands alone, and the names of its tests.

    Raises:
        EditProblem: it is not Python, has no test in it, or imports relatively.
    """
    module = read_source("the new test", source.encode("utf-8", "surrogatepass"))
    body = parse_source(module).body
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.level:
            raise EditProblem(
                f"the new test imports from {'.' * node.level + (node.module or '')!r}"
                " (a test that stands alone needs the whole name)"
            )
    tests = tuple(
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.name.startswith("Test" if isinstance(node, ast.ClassDef) else "test")
    )
    if not tests:
        raise EditProblem("the new test has no function called test_… (give it one)")
    return module, tests
