"""The tests that a report brings, as they stand: functions, and methods of test classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pytest_brt.issue.snippets import Statement, statements
from pytest_brt.pysource.names import needed
from pytest_brt.pysource.parse import Function, first_line, is_test_class, parse
from pytest_brt.types import BlockKind, Issue
from pytest_brt.types.reading import OwnTest

#: Tests of one report; more is somebody's suite.
_MOST = 10


def own_tests(issue: Issue) -> tuple[OwnTest, ...]:
    """Return the tests in the code blocks of a report, each with what else of them it needs.

    Of a class each test is one, with all that the class has besides its tests.
    """
    every = list(_code_of(issue))
    shared = [piece.source for piece in every if _is_for_others(piece)]
    found: list[OwnTest] = []
    for piece in every:
        for name, source in tests_in(piece.source):
            places = needed([*shared, source], len(shared))
            needs = tuple(shared[place] for place in places)
            found.append(OwnTest(name=name, needs=needs, source=source))
    return tuple(found[:_MOST])


def _code_of(issue: Issue) -> Iterator[Statement]:
    for block in issue.blocks:
        if block.kind is BlockKind.PYTHON:
            yield from statements(block.text)


def _is_for_others(piece: Statement) -> bool:
    """Say whether a statement binds what others may need, and is no test itself."""
    calls = isinstance(parse(piece.source).body[-1], ast.Expr)
    return not calls and not any(tests_in(piece.source))


def tests_in(source: str) -> Iterator[tuple[str, str]]:
    """Yield the tests that a statement is or holds, by the names that pytest goes by."""
    node = parse(source).body[-1]
    if isinstance(node, Function) and node.name.startswith("test_"):
        yield node.name, source
    elif isinstance(node, ast.ClassDef) and is_test_class(node):
        methods = [
            item
            for item in node.body
            if isinstance(item, Function) and item.name.startswith("test")
        ]
        for method in methods:
            others = [other for other in methods if other is not method]
            yield f"{node.name}::{method.name}", _without(source, others)


def _without(source: str, nodes: Sequence[ast.stmt]) -> str:
    """Return the text without the lines of some of its statements."""
    left_out = {
        line
        for node in nodes
        for line in range(first_line(node), (node.end_lineno or node.lineno) + 1)
    }
    lines = source.split("\n")
    kept = [line for number, line in enumerate(lines, 1) if number not in left_out]
    return "\n".join(kept).rstrip()
