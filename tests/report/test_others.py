from __future__ import annotations

from dataclasses import replace

from pytest_brt.report.others import others
from pytest_brt.types import (
    CandidateTest,
    JudgedTest,
    Judgement,
    Oracle,
    OracleKind,
    Origin,
    Verdict,
)

TEST = JudgedTest(
    test=CandidateTest(
        id="t",
        name="test_a",
        issue="i",
        origin=Origin(strategy="replay"),
        oracle=Oracle(kind=OracleKind.EQUALS, sentence="It is 3.", prior=0.5),
        path="tests/test_a.py",
        source="",
    ),
    judgement=Judgement(verdict=Verdict.FAIL, candidate=True, reason="", confidence=0.5),
)


def judged(verdict: Verdict, *, candidate: bool = False) -> JudgedTest:
    judgement = replace(TEST.judgement, verdict=verdict, candidate=candidate)
    return replace(TEST, judgement=judgement)


def test_candidates_are_not_told() -> None:
    assert not others([judged(Verdict.FAIL, candidate=True)])
    assert not others([])


def test_each_kind_is_counted_most_frequent_first() -> None:
    tests = [
        judged(Verdict.FAIL, candidate=True),
        judged(Verdict.BROKEN),
        judged(Verdict.PASS),
        judged(Verdict.PASS),
        judged(Verdict.FAIL),
        judged(Verdict.CRASH),
    ]
    assert others(tests) == (
        "of the others 2: passes here, 1: cannot run, 1: fails for another reason, 1: CRASH "
        "(-v shows them)"
    )
