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
    sources = [snippet.source for text in blocks for snippet in read_snippets(text)]
    shared = [source for source in sources if _is_shared(source)]
    tests: list[ReportersTest] = []
    for source in sources:
        for name, test in _tests_in(source):
            nodes = ast.walk(parse(test))
            fixtures = frozenset(node.arg for node in nodes if isinstance(node, ast.arg))
            setup = needed([*shared, test], len(shared), fixtures)
            tests.append(
                ReportersTest(name=name, setup=tuple(shared[at] for at in setup), source=test)
            )
    return tuple(tests[:_MOST])


def _is_shared(source: str) -> bool:
    """Say whether a statement binds what others may need, and is no test itself."""
    return not isinstance(parse(source).body[-1], ast.Expr) and not any(_tests_in(source))


def _tests_in(source: str) -> Iterator[tuple[str, str]]:
    """Yield the tests that a statement is or holds, by the names that pytest goes by."""
    node = parse(source).body[-1]
    if isinstance(node, Function) and node.name.startswith("test_"):
        yield node.name, source
    elif isinstance(node, ast.ClassDef) and is_test_class(node):
        methods = [item for item in node.body if isinstance(item, Function)]
        tests = [item for item in methods if item.name.startswith("test")]
        for test in tests:
            others = [other for other in tests if other is not test]
            yield f"{node.name}::{test.name}", _without(source, others)


def _without(source: str, nodes: Sequence[ast.stmt]) -> str:
    """Return the text without the lines of some of its statements."""
    dropped = {
        line
        for node in nodes
        for line in range(first_line(node), (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source.split("\n"), 1)
    return "\n".join(line for number, line in lines if number not in dropped).rstrip()
