"""Runs that agree make each other likelier."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.reproduce.select import agreed
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


def test_what_more_runs_agree_on_is_likelier() -> None:
    runs = [attempt(n, judged("same", n)) for n in range(4)] + [attempt(4, judged("other", 4))]
    found = agreed(runs)
    same, other = found[0].tests[0].judgement, found[4].tests[0].judgement
    assert (same.agree, same.samples, other.agree) == (4, 5, 1)
    assert same.confidence > 0.3 > other.confidence
    assert same.reason == "fails; 4 of 5 runs fail alike"


def test_what_was_judged_together_already_is_left_alone() -> None:
    (alone,) = agreed([attempt(0, judged("same"))])
    assert alone.tests[0].judgement.confidence == 0.3
    sampled = judged("same", samples=50)
    found = agreed([attempt(0, sampled), attempt(1, judged("same", candidate=False))])
    assert found[0].tests[0] == sampled
    assert found[1].tests[0].judgement.confidence == 0


def test_what_several_runs_wrote_is_a_candidate_once() -> None:
    same = [replace(judged("same"), test=replace(judged("same").test, id=str(n))) for n in (0, 1)]
    named = same[1].test.source or ""
    again = replace(same[1], test=replace(same[1].test, source=named.replace("test_0", "test_x")))
    found = agreed([attempt(0, same[0]), attempt(1, again), attempt(2, judged("same", 5))])
    assert [one.tests[0].judgement.candidate for one in found] == [True, False, True]
    assert found[1].tests[0].judgement.reason.startswith("the same code as test_a of an earlier")
    assert found[0].tests[0].judgement.agree == 3
