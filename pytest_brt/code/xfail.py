"""The strict xfail mark of a test: put above it, found, and taken away again."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_brt.code.fitting import broken_line
from pytest_brt.code.needed_imports import add_needed_imports
from pytest_brt.code.source import SourceText, lines_of, parse_source, read_source
from pytest_brt.errors import EditProblem
from pytest_brt.pysource.parse import Function, first_line


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
    if any(map(_is_xfail, function.decorator_list)):
        return data
    lines = lines_of(source.text)
    at = first_line(function) - 1
    margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    quoted = json.dumps(" ".join(reason.split()), ensure_ascii=False)
    mark = broken_line(f"{margin}@pytest.mark.xfail(strict=True, reason={quoted})")
    lines[at:at] = [f"{line}{source.newline}" for line in mark]
    marked = replace(source, text="".join(lines))
    return source.encode(add_needed_imports(marked, [("pytest", "", "pytest")]))


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
    unmarked = replace(source, text=_without(source.text, marks))
    tree = parse_source(unmarked)
    if any(isinstance(node, ast.Name) and node.id == "pytest" for node in ast.walk(tree)):
        return source.encode(unmarked.text)
    return source.encode(_PYTEST.sub("", unmarked.text, count=1))


#: An import of pytest, with the blank line below it where it is a section of its own.
_PYTEST = re.compile(
    r"(?:\A|(?<=\n\n))import pytest\n\n(?=import |from )|^import pytest\r?\n", re.MULTILINE
)


def marked_tests(path: str, data: bytes) -> tuple[str, ...]:
    """Return the tests with a strict xfail mark, as in "test_a" or "TestX::test_a".

    Raises:
        EditProblem: the file is not Python.
    """
    return tuple(_marked(parse_source(read_source(path, data)).body, ""))


def _marked(body: Sequence[ast.stmt], above: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _marked(node.body, f"{above}{node.name}::")
        elif isinstance(node, Function) and any(map(_is_strict, node.decorator_list)):
            yield f"{above}{node.name}"


def _find(source: SourceText, node: str) -> Function:
    """Return the function of a test ("[…]" of a parameter is not looked at), of several the last.

    Raises:
        EditProblem: there is none, or the file is not Python.
    """
    *classes, name = node.partition("[")[0].split("::")
    body = parse_source(source).body
    for around in classes:
        known = [one for one in body if isinstance(one, ast.ClassDef) and one.name == around]
        body = [inner for one in known for inner in one.body]
    found = [one for one in body if isinstance(one, Function) and one.name == name]
    if not found:
        raise EditProblem(f"{source.path!r} has no test {node!r} (was it renamed?)")
    return found[-1]


def _is_xfail(decorator: ast.expr) -> bool:
    mark = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(mark) in ("pytest.mark.xfail", "mark.xfail")


def _is_strict(decorator: ast.expr) -> bool:
    given = decorator.keywords if isinstance(decorator, ast.Call) else []
    strict = any(one.arg == "strict" and ast.unparse(one.value) == "True" for one in given)
    return strict and _is_xfail(decorator)


def _without(text: str, nodes: Sequence[ast.expr | ast.stmt]) -> str:
    """Return `text` without the lines of some nodes."""
    gone = {line for node in nodes for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = enumerate(lines_of(text), 1)
    return "".join(line for number, line in lines if number not in gone)
