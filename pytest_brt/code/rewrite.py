"""Changes of a test file as libcst has it: imports, one test function, the xfail mark of a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import libcst as cst
from libcst import matchers
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor

from pytest_brt.code.source import SourceText, parse_source, read_module, read_source
from pytest_brt.errors import EditProblem

#: Module, name in it ("" for the module itself), name that it is bound to.
NeededImport = tuple[str, str, str]
Definition = cst.FunctionDef | cst.ClassDef
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
    body = list(module.body)
    end = next((at for at, node in enumerate(body) if isinstance(node, Definition)), len(body))
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


def prepend(function: cst.FunctionDef, statements: Sequence[Statement]) -> cst.FunctionDef:
    """Return `function` with `statements` in front of its body, below its docstring."""
    if not statements:
        return function
    block = function.body
    if isinstance(block, cst.IndentedBlock):
        body = list(block.body)
    else:
        assert isinstance(block, cst.SimpleStatementSuite)
        body = [cst.SimpleStatementLine(block.body)]
        block = cst.IndentedBlock(())
    at = int(len(body) > 1 and _docstring(body[0]) is not None)
    body[at:at] = [indented(statement, " " * 4) for statement in statements]
    return function.with_changes(body=block.with_changes(body=body))


def _docstring(statement: cst.BaseStatement | cst.BaseSmallStatement) -> cst.SimpleString | None:
    if isinstance(statement, cst.SimpleStatementLine):
        expression = statement.body[0]
        if isinstance(expression, cst.Expr) and isinstance(expression.value, cst.SimpleString):
            return expression.value
    return None


def indented(statement: Statement, margin: str) -> Statement:
    """Return `statement` for a place that is deeper by `margin`.

    libcst indents the code, and leaves strings of several lines alone; a docstring goes along.
    """
    if not isinstance(statement, Definition) or not isinstance(statement.body, cst.IndentedBlock):
        return statement
    text = _docstring(statement.body.body[0])
    if text is None:
        return statement
    value = re.sub(r"(\n|\r)(?=[ \t]*[^ \t\r\n])", lambda end: end[1] + margin, text.value)
    changed = statement.deep_replace(text, text.with_changes(value=value))
    assert isinstance(changed, cst.BaseCompoundStatement)
    return changed


def add_self(function: cst.FunctionDef) -> cst.FunctionDef:
    """Return `function` as a method."""
    given = function.params
    field = "posonly_params" if given.posonly_params else "params"
    names = [cst.Param(cst.Name("self")), *getattr(given, field)]
    return function.with_changes(params=given.with_changes(**{field: names}))


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

    `node` is the test below the file, as in "test_a" or "TestX::test_a".

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
    first, *inner = names
    for at in reversed(range(len(body))):
        one = body[at]
        if not isinstance(one, Definition) or one.name.value != first:
            continue
        new: cst.BaseStatement = one
        if isinstance(one, cst.FunctionDef) and not inner:
            new = change(one)
        elif isinstance(one, cst.ClassDef) and isinstance(one.body, cst.IndentedBlock) and inner:
            changed = _with(one.body.body, inner, change)
            if changed is None:
                continue
            if changed is not one.body.body:
                new = one.with_changes(body=one.body.with_changes(body=changed))
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
