"""The tests that stand in a report: functions, and methods of test classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_brt.pysource.names import needed
from pytest_brt.pysource.parse import Function, is_test_class, parse
from pytest_brt.report.snippets import read_snippets
from pytest_brt.types import BlockKind, Issue
from pytest_brt.types.report import ReportersTest

#: Tests of one report; more is somebody's suite.
_MOST = 10


def reporters_tests(issue: Issue) -> tuple[ReportersTest, ...]:
    """Return the tests in the code blocks of a report, each with what else of them it needs."""
    blocks = [block.text for block in issue.blocks if block.kind is BlockKind.PYTHON]
    if not any("def test" in text for text in blocks):
        return ()
    shared: list[str] = []
    tests: list[tuple[str, str]] = []
    for source in (snippet.source for text in blocks for snippet in read_snippets(text)):
        node = parse(source).body[-1]
        if names := [*_tests_in(node)]:
            tests += [(name, source) for name in names]
        elif not isinstance(node, ast.Expr):
            shared.append(source)  # it binds what others may need
    return tuple(_with_setup(name, source, shared) for name, source in tests[:_MOST])


def _tests_in(node: ast.stmt) -> Iterator[str]:
    """Yield the names that pytest goes by of the tests that a statement is or holds."""
    if isinstance(node, Function) and node.name.startswith("test_"):
        yield node.name
    elif isinstance(node, ast.ClassDef) and is_test_class(node):
        for item in node.body:
            if isinstance(item, Function) and item.name.startswith("test"):
                yield f"{node.name}::{item.name}"


def _with_setup(name: str, source: str, shared: list[str]) -> ReportersTest:
    nodes = ast.walk(parse(source))
    fixtures = frozenset(node.arg for node in nodes if isinstance(node, ast.arg))
    setup = needed([*shared, source], len(shared), fixtures)
    return ReportersTest(name=name, setup=tuple(shared[at] for at in setup), source=source)
