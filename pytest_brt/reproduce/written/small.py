"""What a failing test does not need is cut: assertions that hold, set-up that changes nothing.

A sixth of the tests that models write carry assertions that have nothing to do with the bug
(paper 001, requirement 4); each of them can break a right fix.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from pytest_brt.execute.engine import Engine
from pytest_brt.oracle.facts import CLAIMS, simple
from pytest_brt.oracle.judge import failing_line, run_tests
from pytest_brt.reproduce.smaller import (
    is_same_error,
    is_same_place,
    shrunk_by_running,
    with_source,
)
from pytest_brt.reproduce.written.layout import lines_of, tidied, unparsed
from pytest_brt.reproduce.written.reply import parses
from pytest_brt.reproduce.written.slice import needed, still_has
from pytest_brt.reproduce.written.split import split_tests
from pytest_brt.syntax import parse
from pytest_brt.types import CandidateTest, JudgedTest, TestRun

#: Statements of a test that is left alone when it has a single assertion.
_SHORT = 6

#: Judges a test again by its runs, with what is known of it besides.
Judge = Callable[[CandidateTest, tuple[TestRun, ...]], JudgedTest]


def made_small(item: JudgedTest, engine: Engine, repeat: int, judge: Judge) -> JudgedTest:
    """Return the candidate `item` without what its failure does not need, judged again.

    The failing statement stays as it is, and so do the inputs it is about.
    """
    test = item.test
    source = test.source or ""
    run = item.judgement.runs[0]
    line = failing_line(test, run)
    if not item.judgement.candidate or not line or not _is_long(source):
        return item
    small = _shrunk(test, run, line, engine)
    if small == source or not parses(small):
        return item
    shorter = with_source(test, small)
    runs = run_tests([shorter], engine, repeat)[shorter.id]
    again = judge(shorter, runs)
    return again if again.judgement.candidate else item


def _is_long(source: str) -> bool:
    tree = parse(source)
    claims = sum(1 for node in ast.walk(tree) if _is_claim(node))
    tests = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
    ]
    return claims > 1 or any(len(node.body) > _SHORT for node in tests)


def _is_claim(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    return bool(re.search(r"(?:^|\.)(?:assert\w+|raises|warns|fail)$", ast.unparse(node.func)))


def _shrunk(test: CandidateTest, run: TestRun, line: int, engine: Engine) -> str:
    source = test.source or ""
    inputs = needed(source, line)
    small = shrunk_by_running(
        test,
        run,
        engine,
        alike=_is_alike,
        keep=(line, *_lines_beside(source, line)),
        allowed=lambda variant: still_has(variant, inputs),
    )
    return source if small == source else _tidy(small, source)


def _is_alike(one: TestRun, other: TestRun) -> bool:
    """Return whether two runs failed alike; a claim fails wherever the project was left."""
    claimed = one.raised is not None and simple(one.raised.type) in CLAIMS
    return is_same_error(one, other) and (claimed or is_same_place(one, other))


def _lines_beside(source: str, line: int) -> list[int]:
    """Return the lines of everything but the test: helpers stay as the host file has them."""
    found: list[int] = []
    for node in parse(source).body:
        last = node.end_lineno or node.lineno
        if not node.lineno <= line <= last:
            found.extend(range(node.lineno, last + 1))
    return found


def _tidy(small: str, source: str) -> str:
    """Return the shrunk module laid out, without what only the cut parts used.

    What was not changed keeps the text that it had.
    """
    before = {ast.dump(node): node for node in parse(source).body}
    singles = split_tests(small, "")
    if not singles:
        return small
    text = singles[0].source
    lines = source.split("\n")
    parts = []
    for node in parse(text).body:
        same = before.get(ast.dump(node))
        parts.append(lines_of(same, lines) if same is not None else unparsed(node))
    return tidied("\n".join(parts) + "\n")
