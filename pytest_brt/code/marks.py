"""The xfail mark of a test that waits for its fix: put on, taken off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_brt.code.header import add_needed_imports
from pytest_brt.code.splice import SourceText, parse_source, read_source, split_lines
from pytest_brt.errors import EditProblem
from pytest_brt.syntax import first_line, parse

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def mark_xfail(path: str, data: bytes, node: str, reason: str) -> bytes:
    """Return the file with ``@pytest.mark.xfail(strict=True, reason=...)`` on one test.

    Strict: the mark itself turns the suite red on the day the bug is fixed. A test that has
    an xfail mark already is left as it is.

    Args:
        path: of the file, for messages.
        data: its content.
        node: the test below the file, as in "test_a" or "TestX::test_a".
        reason: what the mark tells, on one line.

    Raises:
        EditProblem: there is no such test, or the file is not Python.
    """
    source = read_source(path, data)
    function = _find(source, node)
    if any(_is_xfail(decorator) for decorator in function.decorator_list):
        return data
    first = first_line(function)
    head = source.lines[first - 1]
    margin = head[: len(head) - len(head.lstrip())]
    text = " ".join(reason.split())
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    mark = f"{margin}@pytest.mark.xfail(strict=True, reason={quoted}){source.newline}"
    at = source.offset(first)
    marked = source.text[:at] + mark + source.text[at:]
    return source.encode(add_needed_imports(path, marked, [("pytest", "", "pytest")]))


def unmark(path: str, data: bytes, node: str) -> bytes:
    """Return the file without the strict xfail mark of the test `node`.

    A test without one is left as it is. An import of pytest that nothing needs any more goes too.

    Raises:
        EditProblem: there is no such test, or the file is not Python.
    """
    source = read_source(path, data)
    lines = source.lines
    for decorator in reversed(_find(source, node).decorator_list):
        if _is_xfail(decorator, strict=True):
            del lines[decorator.lineno - 1 : decorator.end_lineno]
    text = "".join(lines)
    return source.encode(text if text == source.text else _without_idle_import(text))


def _without_idle_import(text: str) -> str:
    tree = parse(text)
    if any(isinstance(node, ast.Name) and node.id == "pytest" for node in ast.walk(tree)):
        return text
    lines = split_lines(text)
    for node in tree.body:
        if isinstance(node, ast.Import) and [a.name for a in node.names] == ["pytest"]:
            if node.names[0].asname is None and node.lineno == node.end_lineno:
                del lines[node.lineno - 1]
            break
    return "".join(lines)


def _find(source: SourceText, node: str) -> _Function:
    """Return the definition of the test `node` ("[…]" of a parameter is not looked at)."""
    body: list[ast.stmt] = parse_source(source).body
    *classes, name = node.partition("[")[0].split("::")
    for outer in classes:
        body = next((n.body for n in body if isinstance(n, ast.ClassDef) and n.name == outer), [])
    for item in reversed(body):
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == name:
            return item
    raise EditProblem(f"{source.path!r} has no test {node!r} (was it renamed?)")


def _is_xfail(decorator: ast.expr, *, strict: bool = False) -> bool:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    if ast.unparse(call) not in ("pytest.mark.xfail", "mark.xfail"):
        return False
    if not strict:
        return True
    keywords = (
        {k.arg: k.value for k in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    )
    value = keywords.get("strict")
    return isinstance(value, ast.Constant) and value.value is True


def marked_tests(path: str, data: bytes) -> tuple[str, ...]:
    """Return the tests with a strict xfail mark, as in "test_a" or "TestX::test_a".

    Raises:
        EditProblem: the file is not Python.
    """
    return tuple(_marked(parse_source(read_source(path, data)).body, ""))


def _marked(body: list[ast.stmt], above: str) -> Iterator[str]:
    for item in body:
        if isinstance(item, ast.ClassDef):
            yield from _marked(item.body, f"{above}{item.name}::")
        elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            _is_xfail(decorator, strict=True) for decorator in item.decorator_list
        ):
            yield f"{above}{item.name}"
