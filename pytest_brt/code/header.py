"""Imports that are added to an existing file."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor

#: Module, name in it ("" for the module itself), name that it is bound to.
NeededImport = tuple[str, str, str]
Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
BLANK = cst.EmptyLine(indent=False)


def add_needed_imports(module: cst.Module, needed: Sequence[NeededImport]) -> cst.Module:
    """Return `module` with the imports that it lacks, above its first definition."""
    if not needed:
        return module
    context = CodemodContext()
    for name_of_module, name, bound in needed:
        plain = name or name_of_module.partition(".")[0]
        asname = None if bound == plain else bound
        AddImportsVisitor.add_needed_import(context, name_of_module, name or None, asname)
    head, rest = _divided(module)
    edited = AddImportsVisitor(context).transform_module(head)
    if edited.body and not head.body:
        rest = _apart(module.header[len(head.header) :], rest)
    return edited.with_changes(
        body=[*edited.body, *rest],
        footer=module.footer,
        has_trailing_newline=module.has_trailing_newline or not rest,
    )


def _divided(module: cst.Module) -> tuple[cst.Module, list[Statement]]:
    """Return `module` up to its first definition, and the statements from there on.

    libcst takes seconds to look through thousands of lines, and imports are at the top.
    """
    definition = cst.FunctionDef | cst.ClassDef
    body = list(module.body)
    end = next((at for at, node in enumerate(body) if isinstance(node, definition)), len(body))
    header = list(module.header)
    if not end:
        # Nothing but comments above: they stay above, the encoding is one of them.
        plain = (at for at, line in enumerate(header) if line.comment is None)
        header = header[: next(plain, len(header))]
    head = module.with_changes(header=header, body=body[:end], footer=[])
    return head, body[end:]


def _apart(between: Sequence[cst.EmptyLine], rest: list[Statement]) -> list[Statement]:
    """Return `rest` below the lines `between`, blank ones first."""
    if not rest:
        return rest
    blanks = [] if between and between[0].comment is None else [BLANK, BLANK]
    first = rest[0]
    lines = [*blanks, *between, *first.leading_lines]
    return [first.with_changes(leading_lines=lines), *rest[1:]]
