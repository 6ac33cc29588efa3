"""Puts a test that stands alone into an existing test file, with what it needs around it.

The test module is taken apart into what is placed separately. Nothing that is in the file changes:
what is put in can be taken out again and leaves the original, byte for byte. Placing the same test
twice changes nothing the second time.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import libcst as cst
from libcst import matchers

from pytest_brt.code.file_facts import import_statement, read_facts
from pytest_brt.code.rewrite import (
    BLANK,
    Definition,
    NeededImport,
    Statement,
    add_needed_imports,
    add_self,
    indented,
    prepend,
)
from pytest_brt.code.source import (
    Edit,
    Placement,
    SourceText,
    is_insertion,
    parse_source,
    read_module,
    read_source,
    read_test,
)
from pytest_brt.code.style import HostClass, best_class, host_classes
from pytest_brt.errors import EditProblem
from pytest_brt.syntax.names import bound_names, undefined_names
from pytest_brt.syntax.parse import Function, parse

#: A statement that is nothing but a text: at the top of a module, its docstring.
_TEXT = matchers.SimpleStatementLine(
    body=[matchers.Expr(value=matchers.SimpleString() | matchers.ConcatenatedString())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One top-level statement of the module, imports left out."""

    #: With the comments right above.
    node: Statement
    #: Its code, ending with a line end.
    text: str
    #: What it defines as a function or class, else "".
    name: str
    #: A test function or a class of tests.
    test: bool
    #: Every name that is read or bound in it.
    names: frozenset[str]


def take_apart(source: str, newline: str) -> tuple[list[NeededImport], list[Piece]]:
    """Return the parts of the test module `source`, with the line ends of the file to be.

    These are the imports that something in it uses, star imports as the names that they must
    bring, and everything else, in order.

    Raises:
        EditProblem: it is not Python, has no test, or marks the module as a whole.
    """
    module, tests = read_test(source)
    text = module.text.replace("\r\n", "\n").replace("\n", newline)
    pieces = list(_pieces(statements_of(replace(module, text=text)), tests))
    if any("pytestmark" in piece.names for piece in pieces):
        raise EditProblem("the new test sets pytestmark, which would mark its neighbours as well")
    used = frozenset().union(*(piece.names for piece in pieces))
    return list(dict.fromkeys(item for item in _imports(text) if item[2] in used)), pieces


def statements_of(source: SourceText) -> list[Statement]:
    """Return the top-level statements of `source`, each with the comments right above it."""
    module = read_module(source)
    above = {0: module.header}
    return [
        node.with_changes(leading_lines=_comments([*above.get(at, ()), *node.leading_lines]))
        for at, node in enumerate(module.body)
    ]


def _comments(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Return the comments at the end of `lines`, but for one on the encoding."""
    kept = takewhile(lambda one: one.comment and "coding" not in one.comment.value, reversed(lines))
    return [*kept][::-1]


def _pieces(body: Sequence[Statement], tests: Sequence[str]) -> Iterator[Piece]:
    for at, statement in enumerate(body):
        node = _without_imports(statement)
        if node is None or (at == 0 and matchers.matches(node, _TEXT)):
            continue
        name = node.name.value if isinstance(node, Definition) else ""
        text = cst.Module([]).code_for_node(node)
        names = frozenset(_names(parse(text)))
        yield Piece(node=node, text=text, name=name, test=name in tests, names=names)


def _without_imports(node: Statement) -> Statement | None:
    """Return the statements of a line without the imports among them, None when no other is."""
    if not isinstance(node, cst.SimpleStatementLine):
        return node
    kept = [part for part in node.body if not isinstance(part, cst.Import | cst.ImportFrom)]
    if len(kept) == len(node.body):
        return node
    if not kept:
        return None
    last = kept[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    return node.with_changes(body=[*kept[:-1], last])


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, Function | ast.ClassDef):
            yield inner.name


def _imports(text: str) -> Iterator[NeededImport]:
    for item in read_facts(text).imports:
        if item.top and item.name == "*":
            yield from ((item.module, name, name) for name in undefined_names(text))
        elif item.top and item.module != "__future__":
            yield (item.module, item.name, item.bound)


def divided(
    imports: Sequence[NeededImport], pieces: Sequence[Piece], text: str, tree: ast.Module
) -> tuple[list[NeededImport], list[Piece], list[str]]:
    """Return what of a test module's surroundings goes where in the file `text`.

    These are imports and helpers for its top: what is free there, and not there already with the
    same meaning. The code for the body of each test, in order, is the rest, what depends on that,
    and all plain statements.
    """
    taken = bound_names(text)
    present = {(i.module, i.name, i.bound) for i in read_facts(text).imports if i.top}
    lacking = [i for i in imports if i not in present]
    clashing = [i for i in lacking if i[2] in taken]
    moved = {item[2] for item in clashing}
    local = [import_statement(*item) + "\n" for item in clashing]
    top: list[Piece] = []
    for piece in pieces:
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
    return [i for i in lacking if i not in clashing], top, local


def _bare(code: str) -> tuple[str, ...]:
    """Return what makes a test the same as another: its name and marks of waiting do not."""
    (node,) = parse(code).body
    assert isinstance(node, Function | ast.ClassDef)
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
    imports, pieces = take_apart(source, target.newline)
    classes = host_classes(target.text.replace("\r\n", "\n"))
    needed, top, local = divided(imports, pieces, target.text, tree)
    taken = bound_names(target.text) | {piece.name for piece in top}
    nodes = []
    for piece in top:
        module = _append(module, piece.node)
    for piece in (piece for piece in pieces if piece.test):
        holder = _holder(piece, classes)
        code = _written(piece, local, holder)
        module, name = _put(module, code, holder, taken)
        taken |= set() if holder else {name}
        nodes.append(f"{holder.name}::{name}" if holder else name)
    text = add_needed_imports(module, needed).code
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


def _written(piece: Piece, local: Sequence[str], holder: HostClass | None) -> Definition:
    node = piece.node
    if isinstance(node, cst.ClassDef):
        if local:
            raise EditProblem(
                f"{piece.name!r} needs names that mean something else in the file"
                " (choose another file)"
            )
        return node
    assert isinstance(node, cst.FunctionDef)
    texts = (SourceText(path="", text=code, encoding="utf-8") for code in local)
    node = prepend(node, [statement for text in texts for statement in statements_of(text)])
    return add_self(node) if holder else node


def _put(
    module: cst.Module, node: Definition, holder: HostClass | None, taken: Collection[str]
) -> tuple[cst.Module, str]:
    around = _class_named(module, holder.name) if holder else None
    body = around.body.body if around else module.body
    known = [one for one in body if isinstance(one, Definition)]
    new = _bare(module.code_for_node(node))
    for one in known:
        if _bare(module.code_for_node(one)) == new:
            return module, one.name.value
    names = {*(one.name.value for one in known), *(() if around else taken)}
    wanted = node.name.value
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
    body.append(_below(node, above, 2 if body or module.header else 0))
    return module.with_changes(body=body, footer=[], has_trailing_newline=True)


def _append_in_class(module: cst.Module, holder: cst.ClassDef, node: Definition) -> cst.Module:
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
