"""Rewrites the text of one test function: its name, ``self``, first statements, unittest's ways."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from pytest_brt.code.splice import indent_code, split_lines
from pytest_brt.syntax import first_line, is_constant, parse

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def function_in(text: str) -> FunctionNode:
    """Return the function that `text` defines."""
    (node,) = parse(text).body
    assert isinstance(node, FunctionNode)
    return node


def rename(text: str, old: str, new: str) -> str:
    """Return the definition `text` of `old` as one of `new`."""
    return re.sub(rf"\b(def|class)(\s+){old}\b", rf"\1\2{new}", text, count=1)


def prepend(text: str, statements: Sequence[str]) -> str:
    """Return the function `text` with `statements` in front of its body, below its docstring."""
    if not statements:
        return text
    node = function_in(text)
    first = node.body[0]
    if first.lineno == node.lineno:
        text = ast.unparse(node) + "\n"
        node = function_in(text)
        first = node.body[0]
    lines = split_lines(text)
    head = lines[first.lineno - 1]
    margin = head[: len(head) - len(head.lstrip())]
    is_doc = is_constant(first)
    above = first_line(first) - 1
    at = first.end_lineno or first.lineno if is_doc and len(node.body) > 1 else above
    code = "".join(indent_code(statement, margin) for statement in statements)
    return "".join([*lines[:at], code, *lines[at:]])


def add_self(text: str) -> str:
    """Return the function `text` as a method."""
    node = function_in(text)
    arguments = node.args
    any_given = any((arguments.posonlyargs, arguments.args, arguments.vararg, arguments.kwarg))
    given = "self, " if any_given or arguments.kwonlyargs else "self"
    return re.sub(rf"(\bdef\s+{node.name}\s*\()", lambda match: match[1] + given, text, count=1)


def camel_case(name: str) -> str:
    """Return ``test_some_name`` as ``testSomeName``."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


_ASSERTIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "assertEqual",
    ast.NotEq: "assertNotEqual",
    ast.In: "assertIn",
    ast.NotIn: "assertNotIn",
    ast.Is: "assertIs",
    ast.IsNot: "assertIsNot",
}


def to_unittest(text: str) -> str:
    """Return the method `text` with unittest's assertions in place of ``assert``.

    ``assert`` with a message and ``pytest.raises(..., match=...)`` stay: they say more.
    """
    data = text.encode()
    starts = [0]
    for line in split_lines(text):
        starts.append(starts[-1] + len(line.encode()))
    changes: list[tuple[int, int, str]] = []
    for node in ast.walk(parse(text)):
        if isinstance(node, ast.Assert) and node.msg is None:
            new = _assertion(node.test, text)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.raises":
            if node.keywords or len(node.args) != 1:
                continue
            new, node = "self.assertRaises", node.func  # noqa: PLW2901 (only its name changes)
        else:
            continue
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        changes.append((begin, starts[node.end_lineno - 1] + node.end_col_offset, new))
    for begin, end, new in sorted(changes, reverse=True):
        data = data[:begin] + new.encode() + data[end:]
    return data.decode()


def _assertion(test: ast.expr, text: str) -> str:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        method = _ASSERTIONS.get(type(test.ops[0]))
        if method:
            parts = [_segment(part, text) for part in (test.left, test.comparators[0])]
            if method in ("assertIs", "assertIsNot") and parts[1] == "None":
                return f"self.{method}None({parts[0]})"
            return f"self.{method}({', '.join(parts)})"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return f"self.assertFalse({_segment(test.operand, text)})"
    return f"self.assertTrue({_segment(test, text)})"


def _segment(node: ast.expr, text: str) -> str:
    segment = ast.get_source_segment(text, node) or ast.unparse(node)
    # Without the statement's own brackets around it a comma would part the arguments.
    if isinstance(node, ast.GeneratorExp | ast.Tuple | ast.NamedExpr) and segment[:1] != "(":
        return f"({segment})"
    return segment
