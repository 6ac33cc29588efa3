"""Tests that rules of replay made, with what is believed of them, taken before the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_brt.execute.engine import Engine
from pytest_brt.oracle.facts import Facts
from pytest_brt.oracle.judge import Rating, judge, refused, run_tests
from pytest_brt.types import CandidateTest, JudgedTest, TestRun, Verdict

_NOTHING = Facts(text="", crash=False, context="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A test to be judged, with what is believed of it."""

    test: CandidateTest
    #: Probability that it is F→P if it fails as it should, in 0..1.
    score: float
    #: Few words each, for the judgement's reason.
    reasons: tuple[str, ...] = ()
    #: What the report says to the contrary, "" for nothing.
    against: str = ""
    #: What the report says that a test must not contradict.
    facts: Facts = _NOTHING


def judge_all(proposals: Sequence[Proposal], engine: Engine, repeat: int) -> tuple[JudgedTest, ...]:
    """Run every test on the unpatched tree and judge it."""
    runs = run_tests([proposal.test for proposal in proposals], engine, repeat)
    return tuple(judge_one(proposal, runs[proposal.test.id]) for proposal in proposals)


def judge_one(proposal: Proposal, runs: tuple[TestRun, ...]) -> JudgedTest:
    """Judge one test by its runs on the unpatched tree."""
    rating = Rating(confidence=proposal.score, reasons=proposal.reasons)
    judged = judge(proposal.test, runs, proposal.facts, lambda _: rating)
    if proposal.against and judged.judgement.candidate:
        return replace(judged, judgement=refused(Verdict.FAIL, proposal.against, runs))
    return judged
