"""Adds imports to the text of a file: below those that are there already."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pytest_brt.code.file_facts import import_statement, read_facts
from pytest_brt.code.source import SourceText, lines_of
from pytest_brt.pysource.parse import Function, is_constant, parse

#: Module, name in it ("" for the module itself), name that it is bound to.
NeededImport = tuple[str, str, str]


def add_needed_imports(source: SourceText, needed: Sequence[NeededImport]) -> str:
    """Return the text of `source` with the imports that it lacks, above its first definition.

    Raises:
        SyntaxError: it is not Python.
    """
    present = {
        (one.module, one.name, one.bound) for one in read_facts(source.text).imports if one.top
    }
    new = [import_statement(*one) + source.newline for one in needed if one not in present]
    lines = lines_of(source.text)
    end = _head(source.text, lines)
    above, rest = "".join(lines[:end]), "".join(lines[end:])
    if not new:
        return source.text
    end_of_line = source.newline if above and not above.endswith(("\n", "\r")) else ""
    gap = source.newline * 2 if rest.strip() and lines[end].strip() else ""
    return "".join([above, end_of_line, *new, gap, rest])


def _head(text: str, lines: Sequence[str]) -> int:
    """Return the last line of the imports above the first definition.

    Without any it is that of the docstring, or of the comments at the top.
    """
    end = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    for at, node in enumerate(parse(text).body):
        if isinstance(node, Function | ast.ClassDef):
            break
        if isinstance(node, ast.Import | ast.ImportFrom) or (at == 0 and is_constant(node)):
            end = node.end_lineno or end
    return end
