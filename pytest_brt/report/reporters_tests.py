"""The tests that stand in a report: functions, and methods of test classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pytest_brt.pysource.names import needed
from pytest_brt.pysource.parse import Function, first_line, is_test_class, parse
from pytest_brt.report.snippets import read_snippets
from pytest_brt.types import BlockKind, Issue
from pytest_brt.types.report import ReportersTest

#: Tests of one report; more is somebody's suite.
_MOST = 10


def reporters_tests(issue: Issue) -> tuple[ReportersTest, ...]:
    """Return the tests in the code blocks of a report, each with what else of them it needs.

    Of a class each test is one, with all that the class has besides its tests.
    """
    blocks = [block.text for block in issue.blocks if block.kind is BlockKind.PYTHON]
    if not any("def test" in text for text in blocks):
        return ()
    shared: list[str] = []
    tests: list[tuple[str, str]] = []
    for source in (snippet.source for text in blocks for snippet in read_snippets(text)):
        if own := [*_tests_in(source)]:
            tests += own
        elif not isinstance(parse(source).body[-1], ast.Expr):
            shared.append(source)  # it binds what others may need
    return tuple(_with_setup(name, source, shared) for name, source in tests[:_MOST])


def _with_setup(name: str, source: str, shared: Sequence[str]) -> ReportersTest:
    nodes = ast.walk(parse(source))
    fixtures = frozenset(node.arg for node in nodes if isinstance(node, ast.arg))
    setup = needed([*shared, source], len(shared), fixtures)
    return ReportersTest(name=name, setup=tuple(shared[at] for at in setup), source=source)


def _tests_in(source: str) -> Iterator[tuple[str, str]]:
    """Yield the tests that a statement is or holds, by the names that pytest goes by."""
    node = parse(source).body[-1]
    if isinstance(node, Function) and node.name.startswith("test_"):
        yield node.name, source
    elif isinstance(node, ast.ClassDef) and is_test_class(node):
        lines = source.split("\n")
        tests = {
            item.name: range(first_line(item) - 1, item.end_lineno or item.lineno)
            for item in node.body
            if isinstance(item, Function) and item.name.startswith("test")
        }
        for name in tests:
            others = {line for other in tests if other != name for line in tests[other]}
            kept = [line for at, line in enumerate(lines) if at not in others]
            yield f"{node.name}::{name}", "\n".join(kept).rstrip()
