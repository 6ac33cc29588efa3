"""What a failing test does not need is cut: assertions that hold, set-up that changes nothing.

A sixth of the tests that models write carry assertions that have nothing to do with the bug
(paper 001, requirement 4); each of them can break a right fix. That a failure stays the same
without a statement does not mean that the test does not need it: only a fixed project would tell.
So what goes is also none of the inputs of what failed, by the names that statements share.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine, Row, TestTarget
from pytest_brt.oracle.facts import Facts, matches
from pytest_brt.oracle.judge import failing_line, failure_key, refusal, run_tests
from pytest_brt.reproduce.model_tests.split import crowded, split_tests
from pytest_brt.syntax.parse import Function, first_line, parse
from pytest_brt.types import CandidateTest, JudgedTest, TestRun

#: Statements that are tried one by one, and seconds for that.
_MOST, _SECONDS = 16, 15.0
#: Statements of a test that is left alone when it has a single assertion.
_SHORT = 6
#: Characters of a text that does not stand in a report by chance.
_SPELLED = 3
_CLAIM = re.compile(r"(?:^|\.)(?:assert\w+|raises|warns|fail)$")
_WAITING = re.compile(r"(?:raises|warns|deprecated_call|assertRaises|assertWarns)\(")


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
    if run is None or not item.judgement.candidate or not line:
        return item
    small = _shrunk(test, run, spare_statements(source, line, facts.text), engine)
    if small == source:
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


def spare_statements(source: str, line: int, report: str) -> list[ast.stmt]:
    """Return the statements of the test that nothing from the failing one at `line` on depends on.

    One depends on another that speaks of a variable which it speaks of, or which such a one does.
    What holds a text of the `report` stays too, and what waits for an exception or a warning.
    """
    inside = (node for node in ast.walk(parse(source)) if isinstance(node, Function))
    test = next((n for n in inside if n.name.startswith("test") and _has(n, line)), None)
    if test is None:
        return []
    claims = [n for n in ast.walk(test) if _is_claim(n) and not isinstance(n, ast.Expr)]
    if len(test.body) <= _SHORT and len(claims) < 2:
        return []
    own = _bound(test)
    at = next((n for n, node in enumerate(test.body) if _has(node, line)), 0)
    # What shares a line with another statement cannot go alone.
    lines = crowded(test.body)
    kept = [
        node
        for n, node in enumerate(test.body)
        if n >= at or id(node) in lines or _waits(node) or _spells(node, report)
    ]
    spare = [node for node in test.body if node not in kept]
    for _ in test.body:
        used = {name for other in kept for name in _names(other)} & own
        kept += [node for node in spare if used & _names(node) and not _is_claim(node)]
        spare = [node for node in spare if node not in kept]
    return spare


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _is_claim(node: ast.AST) -> bool:
    node = node.value if isinstance(node, ast.Expr) else node
    called = isinstance(node, ast.Call) and _CLAIM.search(ast.unparse(node.func))
    return isinstance(node, ast.Assert) or bool(called)


def _waits(node: ast.stmt) -> bool:
    """Say whether a statement is a block that waits for an exception or a warning."""
    heads = node.items if isinstance(node, ast.With | ast.AsyncWith) else ()
    return any(_WAITING.search(ast.unparse(head)) for head in heads)


def _spells(node: ast.stmt, report: str) -> bool:
    """Say whether a statement that claims nothing has a text in it that the report has."""
    texts = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant))
    return not _is_claim(node) and any(
        isinstance(text, str) and len(text) >= _SPELLED and text in report for text in texts
    )


def _bound(test: Function) -> set[str]:
    """Return the names that belong to the test: its arguments, variables and inner functions."""
    found = {node.arg for node in ast.walk(test) if isinstance(node, ast.arg)}
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, Function | ast.ClassDef) and node is not test:
            found.add(node.name)
    return found


def _names(node: ast.AST) -> set[str]:
    found = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return found | {
        inner.name for inner in ast.walk(node) if isinstance(inner, Function | ast.ClassDef)
    }


def _shrunk(test: CandidateTest, run: TestRun, spare: Sequence[ast.stmt], engine: Engine) -> str:
    """Return the test without as many of some statements as can go, failing as `run` does.

    All are tried together; where they cannot all go, each alone, and then what could.
    """
    source = test.source or ""

    def fail_alike(choices: Sequence[Sequence[ast.stmt]]) -> list[bool]:
        targets = tuple(
            TestTarget(id=str(n), path=test.path, source=_without(source, gone), node=test.name)
            for n, gone in enumerate(choices)
        )
        wanted = (run.verdict, failure_key(run))
        runs = engine.run(Row(targets=targets)).runs if targets else ()
        alike = {one.test for one in runs if (one.verdict, failure_key(one)) == wanted}
        return [target.id in alike for target in targets]

    if not spare or fail_alike([spare])[0]:
        return _without(source, spare)
    alone = spare[: min(_MOST, int(_SECONDS / max(run.seconds, 0.01)))]
    fitting = [node for node, ok in zip(alone, fail_alike([[n] for n in alone]), strict=True) if ok]
    return _without(source, fitting) if fitting and fail_alike([fitting])[0] else source


def _without(source: str, gone: Sequence[ast.stmt]) -> str:
    """Return the module without some statements, comments on them, and imports for them."""
    if not gone:
        return source
    lines = source.split("\n")
    for node in sorted(gone, key=lambda node: -node.lineno):
        first, last = first_line(node) - 1, node.end_lineno or node.lineno
        while lines[first - 1].lstrip().startswith("#"):
            first -= 1
        while not lines[last].strip():
            last += 1
        del lines[first:last]
    return split_tests("\n".join(lines), "")[0].source
