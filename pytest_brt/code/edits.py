"""Puts a test that stands alone into an existing test file, or makes a file of it.

Nothing that is in the file changes: what is put in can be taken out again and leaves the
original, byte for byte. Placing the same test twice changes nothing the second time.
"""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass, replace

from pytest_brt.code.header import add_needed_imports
from pytest_brt.code.insertion import insert_at_end, insert_in_class
from pytest_brt.code.methods import (
    FunctionNode,
    add_self,
    camel_case,
    function_in,
    prepend,
    rename,
    to_unittest,
)
from pytest_brt.code.needs import Needs, is_same, plan_needs
from pytest_brt.code.pieces import Piece, take_apart
from pytest_brt.code.scope import bound_names
from pytest_brt.code.splice import SourceText, is_insertion, parse_source, read_source
from pytest_brt.code.style import HostClass, HostStyle, best_class, style_of
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
        EditProblem: it is not Python, or has no test in it.
    """
    pieces = take_apart(source)
    text = source if source.endswith("\n") else f"{source}\n"
    edit = Edit(path=path, before=None, after=text.encode())
    return Placement(edit=edit, nodes=tuple(item.name for item in pieces.tests))


def place(source: str, path: str, host: bytes, *, style: HostStyle | None = None) -> Placement:
    """Return the tests of module `source` put into the file `path`, whose content is `host`.

    A function joins the functions, or becomes a method of the class that fits best when the
    file has its tests in classes (not when it needs fixtures that a ``unittest.TestCase``
    cannot give it). A test's name that is taken gets a number. What else the test needs goes
    to the top of the file when its name is free there, else into the function itself.

    Args:
        source: a module that stands alone: imports, statements, helpers and tests.
        path: of the file, relative to the project.
        host: its content.
        style: how its tests are written; read off the file when None.

    Raises:
        EditProblem: one of the two is not Python, or they cannot be joined.
    """
    target = read_source(path, host)
    tree = parse_source(target)
    pieces = take_apart(source)
    if style is None:
        style = style_of(target.text.replace("\r\n", "\n"))
    plan = plan_needs(pieces, target.text, tree)
    text = target.text
    nodes = []
    for piece in plan.top:
        text = insert_at_end(text, piece.text, target.newline)
    for piece in pieces.tests:
        holder = _holder(piece, style)
        code = _written(piece, plan, holder, style)
        text, name = _put(replace(target, text=text), code, piece, holder)
        nodes.append(f"{holder.name}::{name}" if holder else name)
    text = add_needed_imports(path, text, plan.imports)
    if not is_insertion(target.text, text):
        raise EditProblem(f"the test cannot be added to {path!r} without changing other lines")
    parse_source(replace(target, text=text))
    edit = Edit(path=path, before=host, after=target.encode(text))
    return Placement(edit=edit, nodes=tuple(nodes))


def _holder(piece: Piece, style: HostStyle) -> HostClass | None:
    """Return the class that takes the test `piece`, None when it stays outside of classes."""
    if piece.is_class:
        return None
    holder = best_class(style, piece.text)
    if holder is None or not holder.unittest:
        return holder
    function = function_in(piece.text)
    needs_pytest = bool(
        function.args.args or function.args.kwonlyargs or function.decorator_list
    ) or isinstance(function, ast.AsyncFunctionDef)
    return None if needs_pytest else holder


def _written(piece: Piece, plan: Needs, holder: HostClass | None, style: HostStyle) -> str:
    """Return the test as the file would have it, but for its name and indentation."""
    if piece.is_class:
        if plan.local:
            raise EditProblem(
                f"{piece.name!r} needs names that mean something else in the file"
                " (choose another file)"
            )
        return piece.text
    code = prepend(piece.text, plan.local_for(piece))
    if holder:
        code = add_self(code)
        if holder.unittest and style.assertion.startswith("self."):
            code = to_unittest(code)
    return code


def _put(target: SourceText, code: str, piece: Piece, holder: HostClass | None) -> tuple[str, str]:
    """Return the text of the file with the test in it, and the name that it got."""
    text = target.text
    tree = parse_source(target)
    around = _class_named(tree, holder.name) if holder else tree
    for known in around.body:
        if isinstance(known, FunctionNode | ast.ClassDef) and is_same(known, code):
            return text, known.name
    taken = {n.name for n in around.body if isinstance(n, FunctionNode | ast.ClassDef)}
    taken |= set() if holder else bound_names(text)
    wanted = piece.name
    if holder and any(camel_case(t) == t and "_" not in t and t != "test" for t in holder.tests):
        wanted = camel_case(piece.name)
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    code = rename(code, piece.name, name)
    if isinstance(around, ast.ClassDef):
        return insert_in_class(text, around, code, target.newline), name
    return insert_at_end(text, code, target.newline), name


def _class_named(tree: ast.Module, name: str) -> ast.ClassDef:
    found = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name]
    if not found:
        raise EditProblem(f"there is no class {name!r} in the file any more")
    return found[-1]
