"""What a test asserts, held against what its report calls wrong and what it states."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_brt.oracle.report_facts import ReportFacts
from pytest_brt.pysource.parse import Function, called_name, parse_or_empty
from pytest_brt.report.match import match_values
from pytest_brt.types import CandidateTest

#: How two values are said to be the same, and not to be: operators, and methods of unittest.
_SAME = ((ast.Eq, ast.Is), ("assertEqual", "assertIs"))
_OTHER = ((ast.NotEq, ast.IsNot), ("assertNotEqual", "assertIsNot"))
_Literal = ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.UnaryOp


def asserts_reported_bug(test: CandidateTest, facts: ReportFacts) -> str:
    """Return what a test asserts that its report calls wrong, "" for nothing.

    That is a value that it complains about, another one than it states for the same call, an
    exception that it complains about, or that a value is wrong which it calls right.
    """
    tree = _function_of(test)
    stated: dict[str, list[str]] = {}
    for source, value in facts.stated:
        stated.setdefault("".join(source.split()), []).append(value)
    for left, right in _compared(tree, *_SAME):
        values = stated.get("".join(ast.unparse(left).split()), [])
        for text in _texts(right):
            if any(match_values(value, text) for value in facts.wrong):
                return f"asserts the value that the report calls wrong: {text[:80]}"
        if values and isinstance(right, _Literal):
            same = [text for text in _texts(right) for v in values if match_values(v, text)]
            if not same:
                return f"asserts {ast.unparse(right)[:80]}, the report states {values[0][:80]}"
    for _, forbidden in _compared(tree, *_OTHER):
        for text in _texts(forbidden):
            if text in facts.right:  # as it is: white space may be what is wrong
                return f"forbids the value that the report calls right: {text[:80]}"
    for name in _wanted_exceptions(tree):
        if name in facts.raised:
            return f"asserts the exception that the report calls wrong: {name}"
    return ""


def _function_of(test: CandidateTest) -> ast.AST:
    """Return the function that a test is, where its file has others; else all of the file."""
    tree = parse_or_empty(test.source or "")
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    tests = [node for node in functions if node.name.startswith("test")]
    name = test.name.partition("[")[0].rpartition("::")[2]
    own = [node for node in tests if node.name == name]
    return own[0] if own and len(tests) > 1 else tree


def _compared(
    tree: ast.AST, operators: tuple[type[ast.cmpop], ...], methods: tuple[str, ...]
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the two sides of each claim that is made so, in both orders."""
    for node in ast.walk(tree):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            sides = (node.test.left, *node.test.comparators)
            pairs = [
                (sides[at], sides[at + 1])
                for at, operator in enumerate(node.test.ops)
                if isinstance(operator, operators)
            ]
        elif isinstance(node, ast.Call) and called_name(node) in methods and len(node.args) > 1:
            pairs = [(node.args[0], node.args[1])]
        for left, right in pairs:
            yield left, right
            yield right, left


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, _Literal | ast.BinOp):
        yield ast.unparse(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _wanted_exceptions(tree: ast.AST) -> Iterator[str]:
    """Yield the exceptions that are asked for, but for those that are to say something."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(word.arg == "match" for word in node.keywords):
            continue
        if called_name(node) in ("raises", "assertRaises") and node.args:
            first = node.args[0]
            parts = first.elts if isinstance(first, ast.Tuple) else [first]
            yield from (ast.unparse(part).rsplit(".", 1)[-1] for part in parts)
