"""Imports that are added to an existing file, by libcst."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pytest_brt.code.splice import is_insertion, split_lines
from pytest_brt.errors import EditProblem
from pytest_brt.syntax import parse

#: Module, name in it ("" for the module itself), name that it is bound to.
NeededImport = tuple[str, str, str]


def add_needed_imports(path: str, text: str, needed: Sequence[NeededImport]) -> str:
    """Return `text` with the imports that it lacks; what is there stays letter by letter.

    Raises:
        EditProblem: the file is not Python for libcst.
    """
    if not needed:
        return text
    import libcst  # as slow to import as all of ours, and most runs add no import
    from libcst.codemod import CodemodContext
    from libcst.codemod.visitors import AddImportsVisitor

    context = CodemodContext()
    for module, name, bound in needed:
        plain = name or module.partition(".")[0]
        asname = None if bound == plain else bound
        AddImportsVisitor.add_needed_import(context, module, name or None, asname)
    head, rest = _cut(text)
    try:
        tree = libcst.parse_module(head)
    except libcst.ParserSyntaxError as error:
        raise EditProblem(f"{path!r} cannot be edited: {error.message}") from error
    edited = AddImportsVisitor(context).transform_module(tree).code
    if rest and not edited.endswith(("\n", "\r")):
        edited += tree.default_newline
    if rest and not tree.body and not rest.startswith(("\n", "\r")):
        edited += tree.default_newline * 2
    if not is_insertion(head, edited):
        raise EditProblem(f"imports cannot be added to {path!r} without changing other lines")
    return edited + rest


def _cut(text: str) -> tuple[str, str]:
    """Return `text` up to its first definition, and the rest.

    libcst takes seconds for a file of thousands of lines, and only looks at imports here.
    """
    end = 0
    for node in parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            break
        end = node.end_lineno or end
    else:
        return text, ""
    lines = split_lines(text)
    if not end:
        # Nothing but comments above: they stay above, the encoding is one of them.
        end = next((at for at, line in enumerate(lines) if not line.startswith("#")), 0)
    return "".join(lines[:end]), "".join(lines[end:])
