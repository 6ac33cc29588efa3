"""Tests that a model wrote before the judge: what its failure tells of how likely each is right."""

from __future__ import annotations

from pytest_brt.execute.reports import API_MISMATCH
from pytest_brt.oracle.facts import CLAIMS, Facts, matches, simple, states
from pytest_brt.oracle.judge import Rating, is_misuse, judge
from pytest_brt.reproduce.model_tests.confidence import Signs, confidence, count_tokens
from pytest_brt.types import CandidateTest, JudgedTest, TestRun, Verdict

#: Exceptions of a test that only lacks an import, a name or a fixture.
_NAMES = frozenset(
    {"ImportError", "ModuleNotFoundError", "NameError", "UnboundLocalError", "FixtureLookupError"}
)


def judge_written(
    test: CandidateTest, runs: tuple[TestRun, ...], facts: Facts, signs: Signs
) -> JudgedTest:
    """Judge a model's test by its runs on the unpatched tree.

    `signs` says how many samples agree with it. The others are filled in here.
    """

    def rate(run: TestRun) -> Rating:
        seen = signs_of(test, run, facts, signs)
        value, reasons = confidence(seen)
        return Rating(confidence=value, reasons=reasons, agree=seen.agree, samples=seen.samples)

    return judge(test, runs, facts, rate)


def signs_of(test: CandidateTest, run: TestRun, facts: Facts, signs: Signs) -> Signs:
    """Return `signs` with what the failure itself shows."""
    raised = run.raised
    crashed = raised is not None and simple(raised.type) not in CLAIMS
    match = matches(facts, test.source or "", raised)
    return Signs(
        agree=signs.agree,
        samples=signs.samples,
        same=signs.same,
        match=match,
        stated=bool(states(facts, raised)),
        other_kind=crashed and not facts.crash and not match,
        mismatch=run.reason.startswith(API_MISMATCH),
        tokens=count_tokens(test.source or ""),
    )


def is_repairable(run: TestRun) -> bool:
    """Say whether a test is broken by nothing but an import, a name or a fixture."""
    if run.verdict is Verdict.FAIL and run.raised is not None:
        return is_misuse(run.raised)
    if run.verdict is not Verdict.BROKEN or run.reason.startswith("sandbox"):
        return False
    if run.raised is None:
        return "fixture" in run.reason
    names = {simple(run.raised.type), *(simple(base) for base in run.raised.bases)}
    return bool(names & _NAMES) or "fixture" in run.reason
