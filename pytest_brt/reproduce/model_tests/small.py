"""What a failing test does not need is cut: assertions that hold, set-up that changes nothing.

A sixth of the tests that models write carry assertions that have nothing to do with the bug
(paper 001, requirement 4); each of them can break a right fix. Variants are run: what goes must
not change the failure. What the failing statement depends on, by the names that statements share,
must not go either.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_brt.code.shrink import shrink
from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.oracle.facts import CLAIMS, Facts, matches, simple
from pytest_brt.oracle.judge import failing_line, refusal, run_tests
from pytest_brt.reproduce.model_tests.split import lines_of, parses, split_tests, tidied, unparsed
from pytest_brt.syntax import bodies, first_line, parse
from pytest_brt.types import CandidateTest, JudgedTest, TestRun

#: Variants of one test that are run, and wall-clock seconds for them.
_BUDGET, _SECONDS = 48, 15.0
#: Statements of a test that is left alone when it has a single assertion.
_SHORT = 6
#: Characters of a text that does not stand in a report by chance.
_SPELLED = 3
_CLAIM = re.compile(r"(?:^|\.)(?:assert\w+|raises|warns|fail)$")
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
    shorter = replace(
        test,
        id=content_id(test.issue, test.path, small),
        source=small,
        origin=replace(test.origin, parent=test.id),
    )
    runs = run_tests([shorter], engine, repeat)[shorter.id]
    if refusal(shorter, runs, facts) or matches(facts, small, runs[0].raised) != matches(
        facts, source, run.raised
    ):
        return item
    return JudgedTest(test=shorter, judgement=replace(item.judgement, runs=runs))


def _is_long(source: str) -> bool:
    nodes = list(ast.walk(parse(source)))
    tests = (n for n in nodes if isinstance(n, _Function) and n.name.startswith("test"))
    return sum(map(_is_claim, nodes)) > 1 or any(len(node.body) > _SHORT for node in tests)


def _is_claim(node: ast.AST) -> bool:
    called = isinstance(node, ast.Call) and _CLAIM.search(ast.unparse(node.func))
    return isinstance(node, ast.Assert) or bool(called)


def _shrunk(test: CandidateTest, run: TestRun, line: int, engine: Engine, facts: Facts) -> str:
    """Return a smaller source of the test that fails as `run` does at `line`, or its own."""
    source = test.source or ""
    inputs = needed(source, line) | _spelled(source, facts)
    until = time.monotonic() + _SECONDS

    def fail_alike(variants: Sequence[str]) -> list[bool]:
        if time.monotonic() > until:
            return [False] * len(variants)
        targets = tuple(
            TestTarget(id=str(number), path=test.path, source=variant, node=test.name)
            for number, variant in enumerate(variants)
            if still_has(variant, inputs)
        )
        runs = {found.test: found for found in engine.run(Row(targets=targets)).runs}
        found = (runs.get(str(number)) for number in range(len(variants)))
        return [other is not None and is_alike(run, other) for other in found]

    small = shrink(source, fail_alike, budget=_BUDGET, keep=_kept_lines(source, line))
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


def is_alike(one: TestRun, other: TestRun) -> bool:
    """Return whether two runs have the same verdict, exception and message, at the same place.

    That is the function of the project that raised. A claim fails wherever the project was left.
    """
    if one.raised is None or other.raised is None:
        return one.verdict is other.verdict and one.raised is other.raised
    claimed = simple(one.raised.type) in CLAIMS
    return _failure(one) == _failure(other) and (claimed or _place(one) == _place(other))


def _failure(run: TestRun) -> tuple[str, ...]:
    message = re.sub(r"0x[0-9a-f]+", "0x", run.raised.message) if run.raised else ""
    return run.verdict, run.raised.type if run.raised else "", message


def _place(run: TestRun) -> tuple[str, str] | None:
    last = run.raised.in_project if run.raised else None
    return (last.path, last.function) if last else None


def _kept_lines(source: str, line: int) -> list[int]:
    """Return the lines of everything but the test, and those of the test from its failure on.

    Helpers stay as the host file has them. What the failing statement stands in stays too.
    """
    found: list[int] = []
    for node in parse(source).body:
        first, last = first_line(node), node.end_lineno or node.lineno
        if first <= line <= last:
            tests = [n for n in ast.walk(node) if isinstance(n, _Function) and _has(n, line)]
            body = min(tests, key=lambda n: len(n.body)).body if tests else []
            first = next((part.lineno for part in body if _has(part, line)), line)
            last = max([line, *(part.end_lineno or part.lineno for part in body)])
        found.extend(range(first, last + 1))
    return found


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _tidy(small: str, source: str) -> str:
    """Return the shrunk module laid out, without what only the cut parts used.

    What was not changed keeps the text that it had.
    """
    before = {ast.dump(node): node for node in parse(source).body}
    singles = split_tests(small, "")
    if not singles:
        return small
    lines = source.split("\n")
    parts = []
    for node in parse(singles[0].source).body:
        same = before.get(ast.dump(node))
        parts.append(lines_of(same, lines) if same is not None else unparsed(node))
    return tidied("\n".join(parts) + "\n")


def needed(source: str, line: int) -> frozenset[str]:
    """Return the statements that the one at `line` depends on, as `ast.dump` writes them.

    These are the inputs of what failed. That a failure stays the same without one of them does
    not mean that the test does not need it: only a fixed project would tell. A statement counts
    when it speaks of a variable that the failing one speaks of, or that such a statement does.
    """
    functions = (node for node in ast.walk(parse(source)) if isinstance(node, _Function))
    tests = (node for node in functions if _has(node, line) and node.name.startswith("test"))
    test = next(tests, None)
    if test is None:
        return frozenset()
    own = _bound(test)
    used = {name for part in _around(test.body, line) for name in _names(part)} & own
    open_ones = list(_others(test.body, line))
    found: list[ast.stmt] = []
    while True:
        more = [node for node in open_ones if used & _names(node)]
        if not more:
            return frozenset(ast.dump(node) for node in found)
        found += more
        open_ones = [node for node in open_ones if node not in more]
        used |= {name for node in more for name in _names(node)} & own


def still_has(source: str, statements: frozenset[str]) -> bool:
    """Say whether all of `statements` stand in `source` as they were."""
    there = {ast.dump(node) for node in ast.walk(parse(source)) if isinstance(node, ast.stmt)}
    return statements <= there


def _bound(test: _Function) -> set[str]:
    """Return the names that belong to the test: its arguments, variables and inner functions."""
    found = {node.arg for node in ast.walk(test) if isinstance(node, ast.arg)}
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, _Function | ast.ClassDef) and node is not test:
            found.add(node.name)
    return found


def _names(node: ast.AST) -> set[str]:
    found = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return found | {
        inner.name for inner in ast.walk(node) if isinstance(inner, _Function | ast.ClassDef)
    }


def _around(body: Sequence[ast.stmt], line: int) -> Iterator[ast.AST]:
    """Yield the failing statement, and the heads of what it stands in."""
    for node in body:
        if not _has(node, line):
            continue
        inner = [block for block in bodies(node) if any(_has(part, line) for part in block)]
        if not inner:
            yield node
            continue
        for field, value in ast.iter_fields(node):
            if field not in ("body", "orelse", "finalbody", "handlers", "cases"):
                values = value if isinstance(value, list) else [value]
                yield from (part for part in values if isinstance(part, ast.AST))
        for block in inner:
            yield from _around(block, line)


def _others(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """Yield the statements that the failing one does not stand in, claims left out."""
    for node in body:
        if _has(node, line):
            for block in bodies(node):
                yield from _others(block, line)
        elif not _is_claim(node.value if isinstance(node, ast.Expr) else node):
            yield node
