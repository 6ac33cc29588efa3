"""Imports that are added to an existing file, by libcst."""

from __future__ import annotations

from collections.abc import Sequence

import libcst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor

from pytest_brt.code.splice import is_insertion
from pytest_brt.errors import EditProblem

#: Module, name in it ("" for the module itself), name that it is bound to.
NeededImport = tuple[str, str, str]


def add_needed_imports(path: str, text: str, needed: Sequence[NeededImport]) -> str:
    """Return `text` with the imports that it lacks; what is there stays letter by letter.

    Raises:
        EditProblem: the file is not Python for libcst.
    """
    if not needed:
        return text
    context = CodemodContext()
    for module, name, bound in needed:
        plain = name or module.partition(".")[0]
        asname = None if bound == plain else bound
        AddImportsVisitor.add_needed_import(context, module, name or None, asname)
    try:
        tree = libcst.parse_module(text)
    except libcst.ParserSyntaxError as error:
        raise EditProblem(f"{path!r} cannot be edited: {error.message}") from error
    edited = AddImportsVisitor(context).transform_module(tree).code
    if not is_insertion(text, edited):
        raise EditProblem(f"imports cannot be added to {path!r} without changing other lines")
    return edited
