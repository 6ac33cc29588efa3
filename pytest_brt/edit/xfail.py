"""The strict xfail mark of a test: put above it, found, and taken away again."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import replace

from libcst.codemod import CodemodContext
from libcst.codemod.visitors import RemoveImportsVisitor

from pytest_brt.edit.place_test import parse_module, with_imports
from pytest_brt.edit.source_text import SourceText, read_source
from pytest_brt.errors import EditProblem
from pytest_brt.project.definitions import Import, statements_in
from pytest_brt.pysource.parse import Function, first_line, parse


def mark_xfail(path: str, data: bytes, node: str, reason: str) -> bytes:
    """Return the file with ``@pytest.mark.xfail(strict=True, reason=...)`` on one test.

    Strict: the mark itself turns the suite red on the day the bug is fixed. A test that has
    an xfail mark already is left as it is.

    `node` is the test below the file, as in "test_a" or "TestX::test_a".

    Raises:
        EditProblem: there is no such test, or the file is not Python.
    """
    source = read_source(path, data)
    function = _find(source, node)
    if any("mark.xfail" in ast.unparse(one) for one in function.decorator_list):
        return data
    quoted = json.dumps(" ".join(reason.split()), ensure_ascii=False)
    mark = f"@pytest.mark.xfail(strict=True, reason={quoted})"
    lines = source.text.splitlines(keepends=True)
    lines.insert(first_line(function) - 1, f"{' ' * function.col_offset}{mark}{source.newline}")
    module = parse_module(replace(source, text="".join(lines)))
    return source.encode(with_imports(module, [Import("pytest", "", "pytest")]).code)


def unmark(path: str, data: bytes, node: str) -> bytes:
    """Return the file without the strict xfail mark of the test `node`.

    A test without one is left as it is. An import of pytest that nothing needs any more goes too.

    Raises:
        EditProblem: there is no such test, or the file is not Python.
    """
    source = read_source(path, data)
    marks = list(filter(_is_strict, _find(source, node).decorator_list))
    if not marks:
        return data
    lines = source.text.splitlines(keepends=True)
    for mark in reversed(marks):
        del lines[mark.lineno - 1 : mark.end_lineno]
    module = parse_module(replace(source, text="".join(lines)))
    imports = RemoveImportsVisitor(CodemodContext(), [("pytest", None, None)])
    return source.encode(imports.transform_module(module).code)


def marked_tests(path: str, data: bytes) -> tuple[str, ...]:
    """Return the tests with a strict xfail mark, as in "test_a" or "TestX::test_a".

    Raises:
        EditProblem: the file is not Python.
    """
    functions = _functions(read_source(path, data)).items()
    return tuple(name for name, node in functions if any(map(_is_strict, node.decorator_list)))


def _functions(source: SourceText) -> Mapping[str, Function]:
    """Return the functions of a file and of its classes; see `mark_xfail` for what it raises."""
    try:
        tree = parse(source.text)
    except SyntaxError as error:
        raise EditProblem(f"{source.path!r} is not Python: {error}") from error
    return {
        f"{around.replace('.', '::')}{node.name}": node
        for node, around in statements_in(tree.body)
        if isinstance(node, Function)
    }


def _find(source: SourceText, node: str) -> Function:
    """Return the function of a test, of several the last; its parameters do not count."""
    function = _functions(source).get(node.partition("[")[0])
    if function is None:
        raise EditProblem(f"{source.path!r} has no test {node!r} (was it renamed?)")
    return function


def _is_strict(decorator: ast.expr) -> bool:
    text = ast.unparse(decorator)
    return "mark.xfail(" in text and "strict=True" in text
