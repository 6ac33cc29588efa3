"""What a failing test does not need is cut: assertions that hold, set-up that changes nothing.

A sixth of the tests that models write carry assertions that have nothing to do with the bug
(paper 001, requirement 4); each of them can break a right fix.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from pytest_brt.execute.engine import Engine
from pytest_brt.oracle.facts import CLAIMS, Facts, matches, simple
from pytest_brt.oracle.judge import failing_line, refusal, run_tests
from pytest_brt.reproduce.model_tests.layout import lines_of, tidied, unparsed
from pytest_brt.reproduce.model_tests.split import parses, split_tests
from pytest_brt.reproduce.smaller import (
    is_same_error,
    is_same_place,
    needed,
    shrunk_by_running,
    still_has,
    with_source,
)
from pytest_brt.syntax import first_line, parse
from pytest_brt.types import CandidateTest, JudgedTest, TestRun

#: Statements of a test that is left alone when it has a single assertion.
_SHORT = 6

#: Characters of a text that does not stand in a report by chance.
_SPELLED = 3
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def made_small(item: JudgedTest, engine: Engine, repeat: int, facts: Facts) -> JudgedTest:
    """Return the candidate `item` without what its failure does not need.

    The failing statement stays as it is, and so do the inputs it is about, what comes after it,
    which nothing on this tree could tell from what is not needed, and what the report spells. The
    shorter test is run and held against the rules again; the longer one stays where they refuse
    it, or where its failure does not match the report any more.
    """
    test = item.test
    source = test.source or ""
    run = item.judgement.runs[0] if item.judgement.runs else None
    line = failing_line(test, run) if run else 0
    if run is None or not item.judgement.candidate or not line or not _is_long(source):
        return item
    small = _shrunk(test, run, line, engine, facts)
    if small == source or not parses(small):
        return item
    shorter = with_source(test, small)
    runs = run_tests([shorter], engine, repeat)[shorter.id]
    if refusal(shorter, runs, facts) or matches(facts, small, runs[0].raised) != matches(
        facts, source, run.raised
    ):
        return item
    return JudgedTest(test=shorter, judgement=replace(item.judgement, runs=runs))


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


def _shrunk(test: CandidateTest, run: TestRun, line: int, engine: Engine, facts: Facts) -> str:
    source = test.source or ""
    inputs = needed(source, line) | _spelled(source, facts)
    small = shrunk_by_running(
        test,
        run,
        engine,
        alike=_is_alike,
        keep=_kept_lines(source, line),
        allowed=lambda variant: still_has(variant, inputs),
    )
    return source if small == source else _tidy(small, source)


def _spelled(source: str, facts: Facts) -> frozenset[str]:
    """Return the statements, claims aside, with a text in them that the report has."""
    return frozenset(
        ast.dump(node)
        for node in ast.walk(parse(source))
        if isinstance(node, ast.Assign | ast.Expr | ast.AugAssign | ast.AnnAssign)
        and not any(_is_claim(inner) for inner in ast.walk(node))
        and any(
            isinstance(inner, ast.Constant)
            and isinstance(inner.value, str)
            and len(inner.value) >= _SPELLED
            and inner.value in facts.text
            for inner in ast.walk(node)
        )
    )


def _is_alike(one: TestRun, other: TestRun) -> bool:
    """Return whether two runs failed alike; a claim fails wherever the project was left."""
    claimed = one.raised is not None and simple(one.raised.type) in CLAIMS
    return is_same_error(one, other) and (claimed or is_same_place(one, other))


def _kept_lines(source: str, line: int) -> list[int]:
    """Return the lines of everything but the test, and those of the test from its failure on.

    Helpers stay as the host file has them. What the failing statement stands in stays too.
    """
    found: list[int] = []
    for node in parse(source).body:
        first, last = first_line(node), node.end_lineno or node.lineno
        if first <= line <= last:
            tests = [n for n in ast.walk(node) if isinstance(n, _Function) and _around(n, line)]
            body = min(tests, key=lambda n: len(n.body)).body if tests else []
            first = next((part.lineno for part in body if _around(part, line)), line)
            last = max([line, *(part.end_lineno or part.lineno for part in body)])
        found.extend(range(first, last + 1))
    return found


def _around(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


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
