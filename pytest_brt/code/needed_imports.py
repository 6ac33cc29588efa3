"""Adds imports to the text of a file, in libcst's way: beside those that are there already."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor

from pytest_brt.code.source import SourceText, lines_of
from pytest_brt.syntax.parse import Function, is_constant, parse

#: Module, name in it ("" for the module itself), name that it is bound to.
NeededImport = tuple[str, str, str]


def add_needed_imports(source: SourceText, needed: Sequence[NeededImport]) -> str:
    """Return the text of `source` with the imports that it lacks, above its first definition.

    Raises:
        SyntaxError: it is not Python.
    """
    if not needed:
        return source.text
    context = CodemodContext()
    for module, name, bound in needed:
        plain = name or module.partition(".")[0]
        asname = None if bound == plain else bound
        AddImportsVisitor.add_needed_import(context, module, name or None, asname)
    lines = lines_of(source.text)
    end, has_imports = _head(source.text, lines)
    # libcst takes seconds to look through thousands of lines, and imports are at the top.
    config = cst.PartialParserConfig(default_newline=source.newline)
    head = cst.parse_module("".join(lines[:end]), config)
    edited = AddImportsVisitor(context).transform_module(head)
    edited = edited.with_changes(has_trailing_newline=True)
    rest = "".join(lines[end:])
    gap = "" if has_imports or not rest.strip() or not lines[end].strip() else source.newline * 2
    return f"{edited.code}{gap}{rest}"


def _head(text: str, lines: Sequence[str]) -> tuple[int, bool]:
    """Return the last line of the imports above the first definition, and whether there are any.

    Without any it is that of the docstring, or of the comments at the top.
    """
    end = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    has_imports = False
    for at, node in enumerate(parse(text).body):
        if isinstance(node, Function | ast.ClassDef):
            break
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        if is_import or (at == 0 and is_constant(node)):
            end = node.end_lineno or end
            has_imports = has_imports or is_import
    return end, has_imports
