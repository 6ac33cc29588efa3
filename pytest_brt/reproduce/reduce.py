"""Assertions that hold before the failing one are cut from a test; what they call goes on running.

A sixth of the tests that models write carry assertions that have nothing to do with the bug
(paper 001, requirement 4); each of them can break a right fix.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from pytest_brt.codec import content_id
from pytest_brt.oracle.judge import failing_line, failure_key, refusal, run_tests
from pytest_brt.oracle.report_facts import ReportFacts
from pytest_brt.pysource.parse import Function, covers, parse, parses
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import JudgedTest


def reduce_test(item: JudgedTest, engine: Runner, repeat: int, facts: ReportFacts) -> JudgedTest:
    """Return a candidate without assertions that its failure does not need.

    The shorter test is run and held against the rules; the longer one stays where it fails
    otherwise.
    """
    test, runs = item.test, item.judgement.runs
    source = test.source or ""
    line = failing_line(test, runs[0]) if runs else 0
    short = without_assertions(source, line) if item.judgement.candidate and line else source
    if short == source:
        return item
    named = content_id(test.issue, test.path, short)
    origin = replace(test.origin, parent=test.id)
    shorter = replace(test, id=named, source=short, origin=origin)
    again = run_tests([shorter], engine, repeat)[named]
    if refusal(shorter, again, facts) or failure_key(again[0]) != failure_key(runs[0]):
        return item
    return JudgedTest(test=shorter, judgement=replace(item.judgement, runs=again))


def without_assertions(source: str, line: int) -> str:
    r"""Return the test that fails at `line` without plain assertions before that.

    >>> without_assertions("def test_a():\n    assert a\n    assert f() == 1\n    assert b\n", 4)
    'def test_a():\n    f()\n    assert b\n'
    """
    functions = [node for node in ast.walk(parse(source)) if isinstance(node, Function)]
    tests = [one for one in functions if one.name.startswith("test") and covers(one, line)]
    lines = source.split("\n")
    for node in reversed(tests[0].body if tests else []):
        end = node.end_lineno or node.lineno
        if isinstance(node, ast.Assert) and end < line:
            lines[node.lineno - 1 : end] = [
                f"{' ' * node.col_offset}{call}" for call in _calls(node.test)
            ]
    short = "\n".join(lines)
    return short if parses(short) else source


def _calls(node: ast.expr) -> list[str]:
    """Return the parts of an assertion that call or bind something, in their order."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return [text for side in (node.left, *node.comparators) for text in _calls(side)]
    acts = any(isinstance(inner, ast.Call | ast.NamedExpr) for inner in ast.walk(node))
    text = ast.unparse(node)
    return [f"({text})" if isinstance(node, ast.NamedExpr) else text] if acts else []
