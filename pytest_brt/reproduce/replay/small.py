"""Long tests made short: what the report set up without need goes, the failure stays."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pytest_brt.execute.engine import Engine
from pytest_brt.oracle.write import docstring
from pytest_brt.reproduce.judge import Proposal, judge_all
from pytest_brt.reproduce.smaller import (
    is_same_error,
    is_same_place,
    shrunk_by_running,
    with_source,
)
from pytest_brt.syntax import parse
from pytest_brt.types import JudgedTest, TestRun

#: Statements, the docstring among them, that a reader takes in at a glance.
_LONG = 10
#: Tests of one report that are made small.
_MOST = 2


def made_small(judged: Sequence[JudgedTest], engine: Engine, repeat: int) -> tuple[JudgedTest, ...]:
    """Return `judged` with the likeliest of the long candidates replaced by shorter ones.

    The claim itself is left alone, and the literals it is about: a smaller input could fail
    for a right reason. Kept are verdict, exception, message and deepest project frame.
    """
    long = [
        item
        for item in judged
        if item.judgement.candidate and _is_long(item.test.source or "") and _fails_inside(item)
    ]
    long.sort(key=lambda item: -item.judgement.confidence)
    smaller = {item.test.id: _small(item, engine, repeat) for item in long[:_MOST]}
    return tuple(smaller.get(item.test.id, item) for item in judged)


def _fails_inside(item: JudgedTest) -> bool:
    """Say whether the failure is an exception of the project.

    A wrong value says nothing of what it came from: where the fault is that something has no
    effect, what is without effect could go, and with it all that the report is about.
    """
    raised = item.judgement.runs[0].raised
    return raised is not None and raised.in_project is not None


def _is_long(source: str) -> bool:
    tests = [node for node in parse(source).body if isinstance(node, ast.FunctionDef)]
    return any(len(node.body) > _LONG for node in tests) and "subprocess" not in source


def _small(item: JudgedTest, engine: Engine, repeat: int) -> JudgedTest:
    test = item.test
    small = shrunk_by_running(test, item.judgement.runs[0], engine, alike=_is_alike)
    if small == test.source:
        return item
    shorter = with_source(test, _dressed(small, test.oracle.sentence))
    reasons = tuple(part.strip() for part in item.judgement.reason.split(";")[1:])
    proposal = Proposal(test=shorter, score=item.judgement.confidence, reasons=reasons)
    again = judge_all([proposal], engine, repeat)[0]
    return again if again.judgement.candidate else item


def _dressed(source: str, sentence: str) -> str:
    """Return `source` laid out as a test is: two lines above the function, its docstring."""
    head, _, rest = source.rpartition("def test_")
    first, _, body = rest.partition("\n")
    lines = [f"def test_{first}", *docstring(sentence)]
    text = "\n".join(lines) + f"\n{body}"
    return f"{head.rstrip()}\n\n\n{text}" if head.strip() else text


def _is_alike(one: TestRun, other: TestRun) -> bool:
    return is_same_error(one, other) and is_same_place(one, other)
