"""Long tests made short: what the report set up without need goes, the failure stays."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.code.shrink import shrink
from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.reproduce.judge import Proposal, judge_all
from pytest_brt.reproduce.replay.write import docstring
from pytest_brt.syntax import parse
from pytest_brt.types import JudgedTest, TestRun, Verdict

#: Statements, the docstring among them, that a reader takes in at a glance.
_LONG = 10
#: Tests of one report that are made small, and variants of each that are run.
_MOST, _BUDGET = 2, 48
#: Wall-clock seconds after which no more variants of a test are run.
_SECONDS = 15.0


def made_small(judged: Sequence[JudgedTest], engine: Engine, repeat: int) -> tuple[JudgedTest, ...]:
    """Return `judged` with the likeliest of the long candidates replaced by shorter ones.

    The claim itself is left alone, and the literals it is about: a smaller input could fail
    for a right reason. Kept are verdict, exception, message and deepest project frame.
    """
    long = [
        item for item in judged if item.judgement.candidate and _is_long(item.test.source or "")
    ]
    long.sort(key=lambda item: -item.judgement.confidence)
    smaller = {item.test.id: _small(item, engine, repeat) for item in long[:_MOST]}
    return tuple(smaller.get(item.test.id, item) for item in judged)


def _is_long(source: str) -> bool:
    tests = [node for node in parse(source).body if isinstance(node, ast.FunctionDef)]
    return any(len(node.body) > _LONG for node in tests) and "subprocess" not in source


def _small(item: JudgedTest, engine: Engine, repeat: int) -> JudgedTest:
    test = item.test
    source = test.source or ""
    wanted = _signature(item.judgement.runs[0])

    until = time.monotonic() + _SECONDS

    def fails_alike(variants: Sequence[str]) -> list[bool]:
        if time.monotonic() > until:
            return [False] * len(variants)
        targets = tuple(
            TestTarget(id=str(number), path=test.path, source=variant, node=test.name)
            for number, variant in enumerate(variants)
        )
        runs = {run.test: run for run in engine.run(Row(targets=targets)).runs}
        return [_signature(runs[target.id]) == wanted for target in targets]

    small = shrink(source, fails_alike, budget=_BUDGET)
    if small == source:
        return item
    small = _dressed(small, test.oracle.sentence)
    shorter = replace(
        test,
        id=content_id(test.issue, test.path, small),
        source=small,
        origin=replace(test.origin, parent=test.id),
    )
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


def _signature(run: TestRun) -> tuple[Verdict, str, str, str]:
    """Return what a smaller test must have in common with the one it was made from."""
    if run.raised is None:
        return (run.verdict, "", "", "")
    last = run.raised.in_project
    place = f"{last.path}:{last.function}" if last else ""
    message = re.sub(r"0x[0-9a-f]+", "0x", run.raised.message)
    return (run.verdict, run.raised.type, message, place)
