"""Puts a test that stands alone into an existing test file, with what it needs around it.

Nothing that is in the file changes: what is put in can be taken out again and leaves the
original, byte for byte. Placing the same test twice changes nothing the second time.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst
from libcst import matchers

from pytest_brt.code.file_facts import import_statement, read_facts
from pytest_brt.code.pieces import Piece, Pieces, statements_of, take_apart
from pytest_brt.code.rewrite import (
    BLANK,
    NeededImport,
    Statement,
    add_needed_imports,
    add_self,
    camel_case,
    indented,
    prepend,
    to_unittest,
)
from pytest_brt.code.scope import bound_names
from pytest_brt.code.source import (
    Edit,
    Placement,
    SourceText,
    is_insertion,
    parse_source,
    read_module,
    read_source,
)
from pytest_brt.code.style import HostClass, asserts_by_method, best_class, host_classes
from pytest_brt.errors import EditProblem
from pytest_brt.syntax import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The surroundings of a test, divided up."""

    #: Imports for the top of the file.
    imports: tuple[NeededImport, ...]
    #: Helpers for the top level of the file.
    top: tuple[Piece, ...]
    #: Code for the body of each test, in order.
    local: tuple[str, ...]


def plan_needs(pieces: Pieces, text: str, tree: ast.Module) -> Needs:
    """Return where imports, helpers and statements of a test module go in the file `text`.

    To the top what is free there, or there already with the same meaning; into the test what
    is not, what depends on that, and all plain statements.
    """
    taken = bound_names(text)
    present = {(i.module, i.name, i.bound) for i in read_facts(text).imports if i.top}
    clashing = [i for i in pieces.imports if i[2] in taken and i not in present]
    moved = {item[2] for item in clashing}
    local = [import_statement(*item) + "\n" for item in clashing]
    top: list[Piece] = []
    for piece in pieces.pieces:
        if piece.test:
            continue
        if not piece.name:
            local.append(piece.text)
            moved |= piece.names
            continue
        known = [n for n in tree.body if getattr(n, "name", "") == piece.name]
        if any(ast.dump(n) == ast.dump(parse(piece.text).body[0]) for n in known):
            continue
        if piece.name in taken or piece.names & moved:
            local.append(piece.text)
            moved.add(piece.name)
        else:
            top.append(piece)
    imports = tuple(i for i in pieces.imports if i not in clashing and i not in present)
    return Needs(imports=imports, top=tuple(top), local=tuple(local))


def is_same(known: str, code: str) -> bool:
    """Return whether `known` is the test `code`, its name and marks of waiting aside."""
    return _bare(known) == _bare(code)


def _bare(code: str) -> tuple[str, ...]:
    (node,) = parse(code).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    decorators = [d for d in node.decorator_list if "mark.xfail" not in ast.unparse(d)]
    parts: list[ast.AST] = [*decorators, *node.body]
    if not isinstance(node, ast.ClassDef):
        parts.append(node.args)
    return (type(node).__name__, *map(ast.dump, parts))


_MAIN = matchers.If(test=matchers.Comparison(left=matchers.Name("__name__")))


def place(source: str, path: str, host: bytes) -> Placement:
    """Return the tests of module `source` put into the file `path`, whose content is `host`.

    A function joins the functions, or becomes a method of the class that fits best when the
    file has its tests in classes (not when it needs fixtures that a ``unittest.TestCase``
    cannot give it). A test's name that is taken gets a number. What else the test needs goes
    to the top of the file when its name is free there, else into the function itself.

    Raises:
        EditProblem: one of the two is not Python, or they cannot be joined.
    """
    target = read_source(path, host)
    tree = parse_source(target)
    module = read_module(target)
    pieces = take_apart(source, target.newline)
    classes = host_classes(target.text.replace("\r\n", "\n"))
    plan = plan_needs(pieces, target.text, tree)
    taken = bound_names(target.text) | {piece.name for piece in plan.top}
    nodes = []
    for piece in plan.top:
        module = _append(module, piece.node)
    for piece in pieces.tests:
        holder = _holder(piece, classes)
        code = _written(piece, plan, holder, by_method=asserts_by_method(target.text))
        module, name = _put(module, code, holder, taken)
        taken |= set() if holder else {name}
        nodes.append(f"{holder.name}::{name}" if holder else name)
    text = add_needed_imports(module, plan.imports).code
    if not is_insertion(target.text, text):
        raise EditProblem(f"the test cannot be added to {path!r} without changing other lines")
    parse_source(replace(target, text=text))
    edit = Edit(path=path, before=host, after=target.encode(text))
    return Placement(edit=edit, nodes=tuple(nodes))


def _holder(piece: Piece, classes: Sequence[HostClass]) -> HostClass | None:
    """Return the class that takes the test `piece`, None when it stays outside of classes."""
    if not isinstance(piece.node, cst.FunctionDef):
        return None
    holder = best_class(classes, piece.text)
    if holder is None or not holder.unittest:
        return holder
    given = piece.node.params
    needs_pytest = given.params or given.kwonly_params or piece.node.decorators
    return None if needs_pytest or piece.node.asynchronous else holder


def _written(
    piece: Piece, plan: Needs, holder: HostClass | None, *, by_method: bool
) -> cst.FunctionDef | cst.ClassDef:
    node = piece.node
    if isinstance(node, cst.ClassDef):
        if plan.local:
            raise EditProblem(
                f"{piece.name!r} needs names that mean something else in the file"
                " (choose another file)"
            )
        return node
    assert isinstance(node, cst.FunctionDef)
    local = [
        statement
        for code in plan.local
        for statement in statements_of(SourceText(path="", text=code, encoding="utf-8"))
    ]
    node = prepend(node, local)
    if holder:
        node = add_self(node)
        if holder.unittest and by_method:
            node = to_unittest(node)
    return node


def _put(
    module: cst.Module,
    node: cst.FunctionDef | cst.ClassDef,
    holder: HostClass | None,
    taken: frozenset[str] | set[str],
) -> tuple[cst.Module, str]:
    around = _class_named(module, holder.name) if holder else None
    body = around.body.body if around else module.body
    known = [one for one in body if isinstance(one, cst.FunctionDef | cst.ClassDef)]
    code = module.code_for_node(node)
    for one in known:
        if is_same(module.code_for_node(one), code):
            return module, one.name.value
    names = {one.name.value for one in known} | (taken if around is None else set())
    wanted = node.name.value
    if holder and any(camel_case(t) == t and "_" not in t and t != "test" for t in holder.tests):
        wanted = camel_case(wanted)
    name, number = wanted, 1
    while name in names:
        number += 1
        name = f"{wanted}_{number}"
    node = node.with_changes(name=cst.Name(name))
    if around:
        return _append_in_class(module, around, node), name
    return _append(module, node), name


def _class_named(module: cst.Module, name: str) -> cst.ClassDef:
    found = [n for n in module.body if isinstance(n, cst.ClassDef) and n.name.value == name]
    if not found or not isinstance(found[-1].body, cst.IndentedBlock):
        raise EditProblem(f"there is no class {name!r} in the file any more")
    return found[-1]


def _append(module: cst.Module, node: Statement) -> cst.Module:
    """Return `module` with the definition `node` behind all others.

    A trailing ``if __name__ == "__main__":`` stays last.
    """
    body = list(module.body)
    at = len(body)
    while at and matchers.matches(body[at - 1], _MAIN):
        at -= 1
    if at < len(body):
        after = body[at]
        assert isinstance(after, cst.If)
        if at and not (after.leading_lines and after.leading_lines[0].comment is None):
            body[at] = after.with_changes(leading_lines=[BLANK, BLANK, *after.leading_lines])
        body.insert(at, _below(node, [], 2 if at else 0))
        return module.with_changes(body=body)
    above = list(module.footer) if body else []
    is_first = not body and not module.header
    body.append(_below(node, above, 0 if is_first else 2))
    return module.with_changes(body=body, footer=[], has_trailing_newline=True)


def _append_in_class(
    module: cst.Module, holder: cst.ClassDef, node: cst.FunctionDef | cst.ClassDef
) -> cst.Module:
    """Return `module` with the method `node` at the end of its class `holder`."""
    block = holder.body
    assert isinstance(block, cst.IndentedBlock)
    method = indented(node, block.indent or module.default_indent)
    inner = [*block.body, _below(method, block.footer, 1)]
    changed = holder.with_changes(body=block.with_changes(body=inner, footer=[]))
    body = [changed if one is holder else one for one in module.body]
    return module.with_changes(body=body, has_trailing_newline=True)


def _below(node: Statement, above: Sequence[cst.EmptyLine], blanks: int) -> Statement:
    """Return `node` with the lines `above` over it, so that `blanks` lines are blank."""
    for line in reversed(above):
        if line.comment is not None:
            break
        blanks -= 1
    lines = [*above, *[BLANK] * blanks, *node.leading_lines]
    return node.with_changes(leading_lines=lines)
