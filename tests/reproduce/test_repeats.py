"""What several runs write is one test."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.reproduce.select import without_repeats
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    JudgedTest,
    Judgement,
    Oracle,
    OracleKind,
    Origin,
    Raised,
    TestRun,
    Verdict,
)
from tests.support.outcomes import caused


def judged(
    message: str, number: int = 0, *, candidate: bool = True, samples: int = 1
) -> JudgedTest:
    raised = Raised(type="AssertionError", message=message)
    run = TestRun(
        test="t", node="test_a", verdict=Verdict.FAIL, cause=caused(Verdict.FAIL), raised=raised
    )
    return JudgedTest(
        test=CandidateTest(
            id=message,
            name="test_a",
            issue="i",
            origin=Origin(strategy="agent", model="m"),
            oracle=Oracle(kind=OracleKind.WRITTEN, sentence=""),
            path="test_a.py",
            source=f"def test_{number}():\n    assert f({number})\n",
        ),
        judgement=Judgement(
            verdict=Verdict.FAIL,
            candidate=candidate,
            reason="fails",
            confidence=0.3 if candidate else 0.0,
            runs=(run,),
            samples=samples,
        ),
    )


def attempt(index: int, *tests: JudgedTest) -> Attempt:
    return Attempt(issue="i", strategy="agent", index=index, tests=tests)


def test_what_several_runs_wrote_is_a_candidate_once() -> None:
    same = [replace(judged("same"), test=replace(judged("same").test, id=str(n))) for n in (0, 1)]
    named = same[1].test.source or ""
    again = replace(same[1], test=replace(same[1].test, source=named.replace("test_0", "test_x")))
    found = without_repeats([attempt(0, same[0]), attempt(1, again), attempt(2, judged("same", 5))])
    assert [one.tests[0].judgement.candidate for one in found] == [True, False, True]
    assert found[1].tests[0].judgement.reason.startswith("the same code as test_a of an earlier")
