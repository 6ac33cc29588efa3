"""What the expression of a bug test gives on each patch, where the report states no right value.

That a value is no longer what the reporter complains about is true of many patches that give
different ones. What they give is shown, and decides nothing; a person may say which is right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pytest_brt.codec import content_id
from pytest_brt.pysource.parse import called_name, parse_expression, parse_or_empty
from pytest_brt.types import (
    CandidateTest,
    JudgedTest,
    OracleKind,
    Review,
    TestRun,
    Value,
    Verdict,
)

_PREFIX = "value:"
#: Characters of a value that are kept.
_LONGEST = 500
_SHOWING = "raise AssertionError(_given if isinstance(_given := ({}), str) else repr(_given))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weak:
    """The assertion of a bug test that a value is not the reported one."""

    statement: ast.Assert
    given: ast.expr
    reported: ast.expr


def weak_assertion(test: CandidateTest) -> Weak | None:
    """Return the assertion of a test that only says what is wrong; None where it is another."""
    if test.oracle.kind is not OracleKind.GONE or test.source is None:
        return None
    found = None
    for node in ast.walk(parse_or_empty(test.source)):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            operators, sides = node.test.ops, node.test.comparators
            is_weak = isinstance(operators[0], ast.NotEq | ast.IsNot)
            if len(operators) == 1 and is_weak and _can_be_written(node):
                found = Weak(statement=node, given=node.test.left, reported=sides[0])
    return found


def _can_be_written(node: ast.AST) -> bool:
    """Say whether a tree is not nested too deeply for Python to write it."""
    try:
        ast.unparse(node)
    except RecursionError:
        return False
    return True


def showing(tests: Iterable[JudgedTest]) -> tuple[CandidateTest, ...]:
    """Return, for each test that only says what is wrong, one that fails with what there is."""
    found = []
    for judged in tests:
        weak = weak_assertion(judged.test)
        if weak is not None and judged.judgement.candidate:
            line = _SHOWING.format(ast.unparse(weak.given))
            source = _with_assertion(judged.test.source or "", weak.statement, line)
            found.append(replace(judged.test, id=_PREFIX + judged.test.id, source=source))
    return tuple(found)


def is_value(run: TestRun) -> bool:
    """Say whether a run is one of a test that only shows a value."""
    return run.test.startswith(_PREFIX)


def values_of(runs: Iterable[TestRun], tests: Iterable[JudgedTest]) -> tuple[Value, ...]:
    """Return what the runs of such tests showed; what could not be run is left out."""
    by_id = {judged.test.id: judged.test for judged in tests}
    found = []
    for run in runs:
        test = by_id.get(run.test.removeprefix(_PREFIX)) if is_value(run) else None
        weak = weak_assertion(test) if test is not None else None
        if test is None or weak is None or run.raised is None or run.verdict is not Verdict.FAIL:
            continue
        shown = run.raised.type == "AssertionError"
        found.append(
            Value(
                test=test.id,
                expression=_plain(weak.given),
                before=_text_of(weak.reported),
                text=run.raised.message[:_LONGEST] if shown else "",
                raised="" if shown else run.raised.type,
            )
        )
    return tuple(found)


def stating(judged: JudgedTest, value: Value) -> JudgedTest:
    """Return a test that wants a value which a person calls right."""
    weak = weak_assertion(judged.test)
    assert weak is not None, "values come from tests that have such an assertion"
    given = ast.unparse(weak.given)
    # What the test compares is a text, or can be written down.
    text = value.text if is_written(value.text) and not _is_text(weak) else repr(value.text)
    line = f"assert {given} == {text}"
    source = _with_assertion(judged.test.source or "", weak.statement, line)
    name = f"{judged.test.name}_as_you_said"
    source = source.replace(f"def {judged.test.name}(", f"def {name}(")
    return accepted(judged, name, source, "You said that this value is right.")


def accepted(judged: JudgedTest, name: str, source: str, sentence: str) -> JudgedTest:
    """Return the test that a person's answer makes of another one, as accepted."""
    test = replace(
        judged.test,
        id=content_id(judged.test.path, source),
        name=name,
        oracle=replace(judged.test.oracle, kind=OracleKind.EQUALS, sentence=sentence),
        source=source,
        expects=None,
    )
    return replace(judged, test=test, review=Review.ACCEPTED)


def _is_text(weak: Weak) -> bool:
    return isinstance(weak.reported, ast.Constant) and isinstance(weak.reported.value, str)


def is_written(text: str) -> bool:
    """Say whether a value, as Python shows it, can be written down."""
    try:
        ast.literal_eval(parse_expression(text))
    except (SyntaxError, ValueError):
        return False
    return True


def _plain(node: ast.expr) -> str:
    """Return an expression without the ``repr()`` or ``str()`` around it."""
    if isinstance(node, ast.Call) and called_name(node) in ("repr", "str") and node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node)


def _text_of(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value[:_LONGEST]
    return ast.unparse(node)[:_LONGEST]


def _with_assertion(source: str, statement: ast.Assert, line: str) -> str:
    """Return a test with another statement in the place of an assertion."""
    lines = source.splitlines(keepends=True)
    indent = " " * statement.col_offset
    end = statement.end_lineno or statement.lineno
    return "".join([*lines[: statement.lineno - 1], f"{indent}{line}\n", *lines[end:]])
