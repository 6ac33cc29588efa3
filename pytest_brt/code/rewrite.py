"""Changes of a test file as libcst has it: imports added above, one test function rewritten."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst
from libcst import matchers
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


Definition = cst.FunctionDef | cst.ClassDef


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


def camel_case(name: str) -> str:
    """Return ``test_some_name`` as ``testSomeName``."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def to_unittest(function: cst.FunctionDef) -> cst.FunctionDef:
    """Return the method `function` with unittest's assertions in place of ``assert``.

    ``assert`` with a message and ``pytest.raises(..., match=...)`` stay: they say more.
    """
    changed = function.visit(_Unittest())
    assert isinstance(changed, cst.FunctionDef)
    return changed


_ASSERTIONS: dict[type[cst.BaseCompOp], str] = {
    cst.Equal: "assertEqual",
    cst.NotEqual: "assertNotEqual",
    cst.In: "assertIn",
    cst.NotIn: "assertNotIn",
    cst.Is: "assertIs",
    cst.IsNot: "assertIsNot",
}
_RAISES = matchers.Call(
    func=matchers.Attribute(value=matchers.Name("pytest"), attr=matchers.Name("raises")),
    args=[matchers.Arg(keyword=None, star="")],
)
_NONE = matchers.Name("None")


class _Unittest(cst.CSTTransformer):
    """Says with methods of a ``TestCase`` what pytest says in its own way."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Replace ``pytest.raises(ValueError)``."""
        if matchers.matches(original_node, _RAISES):
            return updated_node.with_changes(func=_method("assertRaises"))
        return updated_node

    def leave_Assert(
        self, original_node: cst.Assert, updated_node: cst.Assert
    ) -> cst.Assert | cst.Expr:
        """Replace ``assert``."""
        if updated_node.msg is not None:
            return updated_node
        call = _assertion(updated_node.test)
        return cst.Expr(call, semicolon=updated_node.semicolon)


def _assertion(test: cst.BaseExpression) -> cst.Call:
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        method = _ASSERTIONS.get(type(target.operator), "")
        if method.startswith("assertIs") and matchers.matches(target.comparator, _NONE):
            return _call(f"{method}None", test.left)
        if method:
            return _call(method, test.left, target.comparator)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _call("assertFalse", test.expression)
    return _call("assertTrue", test)


def _call(method: str, *values: cst.BaseExpression) -> cst.Call:
    return cst.Call(_method(method), [cst.Arg(_bare(value)) for value in values])


def _bare(value: cst.BaseExpression) -> cst.BaseExpression:
    """Return `value` without brackets around it that the call's own replace."""
    needs = isinstance(value, cst.GeneratorExp | cst.Tuple | cst.NamedExpr | cst.Yield)
    return value if needs or not value.lpar else value.with_changes(lpar=(), rpar=())


def _method(name: str) -> cst.Attribute:
    return cst.Attribute(cst.Name("self"), cst.Name(name))
