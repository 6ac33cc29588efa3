"""Shorter tests of models: without assertions that their failure does not need."""

from __future__ import annotations

import ast
from dataclasses import replace

from pytest_brt.codec import content_id
from pytest_brt.oracle.judge import failing_line, failure_key, run_tests
from pytest_brt.pysource.parse import Function, code_of, covers, parse
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import JudgedTest, OracleKind


def reduce_test(item: JudgedTest, bench: Workbench) -> JudgedTest:
    """Return a model's candidate without assertions that its failure does not need.

    A sixth of the tests that models write carry assertions that have nothing to do with the bug
    (paper 001, requirement 4); each of them can break a right fix. Those that hold before the
    failing one are cut, and what they call goes on running. The shorter test is run; the longer
    one is kept if it fails differently.
    """
    test, runs = item.test, item.judgement.runs
    source = test.source or ""
    if not item.judgement.candidate or test.oracle.kind is not OracleKind.WRITTEN:
        return item
    short = without_assertions(source, failing_line(test, runs[0]))
    shorter = replace(test, id=content_id(test.issue, test.path, short), source=short)
    if short != source:
        again = run_tests([shorter], bench.engine, bench.repeat)[shorter.id]
        if {*map(failure_key, again)} == {failure_key(runs[0])}:
            return JudgedTest(test=shorter, judgement=replace(item.judgement, runs=again))
    return item


def without_assertions(source: str, line: int) -> str:
    r"""Return the test that fails at `line` without plain assertions before that.

    >>> without_assertions("def test_a():\n    assert a\n    assert f() == 1\n    assert b\n", 4)
    'def test_a():\n    f()\n    assert b\n'
    """
    functions = [node for node in ast.walk(parse(source)) if isinstance(node, Function)]
    lines = source.split("\n")
    for node in reversed([n for one in functions if covers(one, line) for n in one.body]):
        end = node.end_lineno or node.lineno
        if isinstance(node, ast.Assert) and end < line:
            kept = node.test
            if isinstance(kept, ast.Compare) and not any(map(_may_act, kept.comparators)):
                kept = kept.left
            call = f"{' ' * node.col_offset}{code_of(kept)}"
            lines[node.lineno - 1 : end] = [call] if _may_act(kept) else []
    return "\n".join(lines)


def _may_act(node: ast.expr) -> bool:
    """Return whether an expression may call or bind something."""
    return "(" in code_of(node)
