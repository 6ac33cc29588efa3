"""Tests that a model wrote, and what they did."""

from __future__ import annotations

from pytest_brt.oracle.facts import Facts
from pytest_brt.reproduce.model_tests.confidence import Signs, judge_written
from pytest_brt.types import (
    CandidateTest,
    Cause,
    Frame,
    JudgedTest,
    Oracle,
    OracleKind,
    Origin,
    Raised,
    TestRun,
    Verdict,
)
from tests.support.outcomes import caused

WRONG = Facts(text="f(1) gives 'a-b'", crash=False, context="", wrong=("'a-b'",))


CRASH = Facts(text="f(1) raises KeyError", crash=True, context="KeyError", raised=("KeyError",))


PRODUCT = Frame(path="pkg/core.py", line=3, function="f", project=True)


def candidate(source: str = "def test_a():\n    assert f(1) == 'ab'\n") -> CandidateTest:
    return CandidateTest(
        id="t",
        name="test_a",
        issue="i",
        origin=Origin(strategy="libro"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence="s"),
        path="tests/test_a.py",
        source=source,
    )


def run(
    raised: str = "AssertionError",
    message: str = "assert 'a-b' == 'ab'",
    *,
    verdict: Verdict = Verdict.FAIL,
    cause: Cause | None = None,
    frames: tuple[Frame, ...] = (),
) -> TestRun:
    seen = Raised(type=raised, message=message, bases=(), frames=frames) if raised else None
    return TestRun(
        test="t", node="test_a", verdict=verdict, cause=cause or caused(verdict), raised=seen
    )


def judged(*runs: TestRun, facts: Facts = WRONG, source: str = "") -> JudgedTest:
    test = candidate(source) if source else candidate()
    return judge_written(test, runs, facts, Signs())
