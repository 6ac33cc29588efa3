"""The xfail mark of a test that waits for its fix: put on, taken off."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import libcst as cst
from libcst import matchers

from pytest_brt.code.rewrite import add_needed_imports
from pytest_brt.code.source import SourceText, parse_source, read_module, read_source
from pytest_brt.errors import EditProblem

_MARK = matchers.Name("mark") | matchers.Attribute(matchers.Name("pytest"), matchers.Name("mark"))
_XFAIL = matchers.Attribute(_MARK, matchers.Name("xfail"))
_STRICT = matchers.Call(
    func=_XFAIL,
    args=[
        matchers.ZeroOrMore(),
        matchers.Arg(keyword=matchers.Name("strict"), value=matchers.Name("True")),
        matchers.ZeroOrMore(),
    ],
)
_PYTEST = matchers.SimpleStatementLine(
    body=[matchers.Import(names=[matchers.ImportAlias(name=matchers.Name("pytest"), asname=None)])]
)
_Change = Callable[[cst.FunctionDef], cst.FunctionDef]


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
    text = " ".join(reason.split())
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    mark = cst.Decorator(cst.parse_expression(f"pytest.mark.xfail(strict=True, reason={quoted})"))

    def marked(function: cst.FunctionDef) -> cst.FunctionDef:
        if any(_is_xfail(decorator) for decorator in function.decorators):
            return function
        return function.with_changes(decorators=[mark, *function.decorators])

    source, before = _read(path, data)
    after = _changed(before, node, marked, path)
    if after is before:
        return data
    return source.encode(add_needed_imports(after, [("pytest", "", "pytest")]).code)


def unmark(path: str, data: bytes, node: str) -> bytes:
    """Return the file without the strict xfail mark of the test `node`.

    A test without one is left as it is. An import of pytest that nothing needs any more goes too.

    Raises:
        EditProblem: there is no such test, or the file is not Python.
    """
    source, before = _read(path, data)
    after = _changed(before, node, _unmarked, path)
    if after is before:
        return data
    return source.encode(_without_idle_import(source, after).code)


def marked_tests(path: str, data: bytes) -> tuple[str, ...]:
    """Return the tests with a strict xfail mark, as in "test_a" or "TestX::test_a".

    Raises:
        EditProblem: the file is not Python.
    """
    return tuple(_marked(_read(path, data)[1].body, ""))


def _read(path: str, data: bytes) -> tuple[SourceText, cst.Module]:
    source = read_source(path, data)
    parse_source(source)  # says better than libcst what is wrong, and in which line
    return source, read_module(source)


def _changed(module: cst.Module, test: str, change: _Change, path: str) -> cst.Module:
    """Return `module` with one test changed ("[…]" of a parameter is not looked at)."""
    body = _with(module.body, test.partition("[")[0].split("::"), change)
    if body is None:
        raise EditProblem(f"{path!r} has no test {test!r} (was it renamed?)")
    return module if body is module.body else module.with_changes(body=body)


def _with(
    body: Sequence[cst.BaseStatement], names: Sequence[str], change: _Change
) -> Sequence[cst.BaseStatement] | None:
    """Return `body` with the test `names` changed, itself if that is the same; None without."""
    for at in range(len(body) - 1, -1, -1):
        one = body[at]
        new: cst.BaseStatement
        if isinstance(one, cst.FunctionDef) and [one.name.value] == list(names):
            new = change(one)
        elif isinstance(one, cst.ClassDef) and one.name.value == names[0] and names[1:]:
            block = one.body
            inner = (
                _with(block.body, names[1:], change)
                if isinstance(block, cst.IndentedBlock)
                else None
            )
            if inner is None:
                continue
            new = (
                one
                if inner is block.body
                else one.with_changes(body=block.with_changes(body=inner))
            )
        else:
            continue
        return body if new is one else [*body[:at], new, *body[at + 1 :]]
    return None


def _unmarked(function: cst.FunctionDef) -> cst.FunctionDef:
    kept: list[cst.Decorator] = []
    comments: list[cst.EmptyLine] = []
    for decorator in function.decorators:
        comments += decorator.leading_lines
        if not _is_xfail(decorator, strict=True):
            kept.append(decorator.with_changes(leading_lines=comments))
            comments = []
    if len(kept) == len(function.decorators):
        return function
    lines = [*comments, *function.lines_after_decorators]
    return function.with_changes(decorators=kept, lines_after_decorators=lines)


def _is_xfail(decorator: cst.Decorator, *, strict: bool = False) -> bool:
    mark = decorator.decorator
    if strict:
        return matchers.matches(mark, _STRICT)
    return matchers.matches(mark.func if isinstance(mark, cst.Call) else mark, _XFAIL)


def _marked(body: Sequence[cst.BaseStatement], above: str) -> Iterator[str]:
    for item in body:
        if isinstance(item, cst.ClassDef) and isinstance(item.body, cst.IndentedBlock):
            yield from _marked(item.body.body, f"{above}{item.name.value}::")
        elif isinstance(item, cst.FunctionDef) and any(
            _is_xfail(decorator, strict=True) for decorator in item.decorators
        ):
            yield f"{above}{item.name.value}"


def _without_idle_import(source: SourceText, module: cst.Module) -> cst.Module:
    tree = parse_source(replace(source, text=module.code))
    if any(isinstance(node, ast.Name) and node.id == "pytest" for node in ast.walk(tree)):
        return module
    body = list(module.body)
    found = [at for at, node in enumerate(body) if matchers.matches(node, _PYTEST)]
    if not found:
        return module
    idle = body.pop(found[0])
    if found[0] < len(body):
        after = body[found[0]]
        lines = [*idle.leading_lines, *after.leading_lines]
        body[found[0]] = after.with_changes(leading_lines=lines)
    return module.with_changes(body=body)
