"""What the expression of a bug test gives on each patch, where nobody stated the right value.

That a value is no longer what the reporter complains about, or that nothing is raised any more, is
true of many patches that give different values. What they give is shown, and decides nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pytest_brt.codec import content_id
from pytest_brt.edit.source_text import indented
from pytest_brt.pysource.parse import called_name, is_constant, parse_expression, parse_or_empty
from pytest_brt.report.match import ADDRESS
from pytest_brt.types import (
    CandidateTest,
    Given,
    JudgedTest,
    OracleKind,
    Review,
    Telling,
    TestRun,
    Value,
    Verdict,
)

_PREFIX = "value:"
#: Characters of a value that are kept.
_LONGEST = 500
#: Texts are shown as they are where they are compared with one.
_SHOWING = "raise AssertionError(_given if isinstance(_given := ({}), {}) else repr(_given))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weak:
    """The statement by which a bug test only says what is wrong."""

    statement: ast.stmt
    given: ast.expr
    #: The value that it forbids; None where it forbids an exception.
    reported: ast.expr | None = None


def weak_assertion(test: CandidateTest) -> Weak | None:
    """Return the statement of a test that only says what is wrong; None where it says more."""
    kind, tree = test.oracle.kind, parse_or_empty(test.source or "")
    if kind is OracleKind.NO_RAISE:
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
        last = next((node.body[-1] for node in functions if node.name == test.name), None)
        inner = last.body[-1] if isinstance(last, ast.Try) else last
        if last and isinstance(inner, ast.Expr) and not is_constant(inner):
            return Weak(statement=last, given=inner.value)
    weak = None
    for node in ast.walk(tree) if kind is OracleKind.GONE else ():
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            operators, sides = node.test.ops, node.test.comparators
            is_weak = isinstance(operators[0], ast.NotEq | ast.IsNot)
            if len(operators) == 1 and is_weak and _can_be_written(node):
                weak = Weak(statement=node, given=node.test.left, reported=sides[0])
    return weak


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
            line = _SHOWING.format(ast.unparse(weak.given), "str" if weak.reported else "()")
            source = _with_assertion(judged.test.source or "", weak.statement, line)
            found.append(replace(judged.test, id=_PREFIX + judged.test.id, source=source))
    return tuple(found)


def is_value(run: TestRun) -> bool:
    """Say whether a run is one of a test that only shows a value."""
    return run.test.startswith(_PREFIX)


def values_of(runs: Iterable[TestRun], tests: Iterable[JudgedTest]) -> tuple[Value, ...]:
    """Return what the runs of such tests showed; what could not be run is left out."""
    by_id = {judged.test.id: judged for judged in tests}
    found = []
    for run in runs:
        judged = by_id.get(run.test.removeprefix(_PREFIX)) if is_value(run) else None
        weak = weak_assertion(judged.test) if judged is not None else None
        if judged is None or weak is None or run.raised is None or run.verdict is not Verdict.FAIL:
            continue
        shown = run.raised.type == "AssertionError"
        found.append(
            Value(
                test=judged.test.id,
                expression=_plain(weak.given),
                before=_text_of(weak.reported) if weak.reported else "",
                raised_before="" if weak.reported else _raised_by(judged),
                text=ADDRESS.sub("0x…", run.raised.message[:_LONGEST]) if shown else "",
                raised="" if shown else run.raised.type,
            )
        )
    return tuple(found)


def _raised_by(judged: JudgedTest) -> str:
    """Return the exception that a test fails with on the unpatched tree."""
    runs = judged.judgement.runs
    return runs[0].raised.type if runs and runs[0].raised else ""


def saying(judged: JudgedTest, telling: Telling, given: Given) -> JudgedTest:
    """Return the test that wants what a call gives on some patches, which a person calls right.

    `judged` is the bug test whose call was varied.
    """
    lines = list(telling.setup)
    if given.raised:
        module, _, name = given.raised.removeprefix("builtins.").rpartition(".")
        lines += ["import pytest", *([f"import {module}"] if module else [])]
        kind = f"{module}.{name}" if module else name
        lines.append(f"with pytest.raises({kind}):\n{indented(telling.expression)}")
    elif is_written(given.text):
        lines.append(f"assert {telling.expression} == {given.text}")
    else:
        lines.append(f"assert repr({telling.expression}) == {given.text!r}")
    name = f"{judged.test.name}_as_you_said"
    body = "\n".join(map(indented, lines))
    return accepted(judged, name, f"def {name}():\n{body}\n", "You said that this is right.")


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


def _with_assertion(source: str, statement: ast.stmt, line: str) -> str:
    """Return a test with another statement in the place of one."""
    lines = source.splitlines(keepends=True)
    indent = " " * statement.col_offset
    end = statement.end_lineno or statement.lineno
    return "".join([*lines[: statement.lineno - 1], f"{indent}{line}\n", *lines[end:]])
