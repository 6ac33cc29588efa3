"""How much is held of a model's failing test, by how many samples agree and how it fails.

How often such tests are right was not measured here: the confidence puts them in order and is not
said. One counts by itself where it compares the values of the report, or where its failure is the
reported one and most samples fail so; else where a model's words for it hold (`questions`).
"""

from __future__ import annotations

from pytest_brt.oracle.draft import simple
from pytest_brt.oracle.judge import Rating, judge
from pytest_brt.oracle.report_facts import (
    ASSERTIONS,
    ReportFacts,
    failure_matches_report,
    states_values,
)
from pytest_brt.types import COUNTS, CandidateTest, JudgedTest, TestRun

#: The failure is the reported one, or not, or speaks against the test; what agreement adds.
_MATCH, _NO_MATCH, _WRONG, _ALL = 0.5, 0.3, 0.1, 0.09
#: So many samples that fail alike are no accident, where they are most.
_AGREE = 3


def judge_written(
    test: CandidateTest,
    runs: tuple[TestRun, ...],
    facts: ReportFacts,
    agree: int = 1,
    samples: int = 1,
) -> JudgedTest:
    """Judge a model's test by its runs on the unpatched tree.

    `agree` of `samples` fail alike, this one too.
    """
    run = runs[0] if runs else None
    raised = run.raised if run else None
    match = failure_matches_report(facts, test.source or "", raised)
    alike = f"{agree} of {samples} samples fail alike" if samples > 1 else ""
    crashes = calls = ""
    confidence = _MATCH if match else _NO_MATCH
    if states_values(facts, raised) or (match and agree >= _AGREE and agree * 2 > samples):
        confidence = COUNTS
    if raised and simple(raised.type) not in ASSERTIONS and not (facts.is_crash or match):
        crashes = "crashes, though the report is about a wrong value"
    if run and run.mismatch:
        calls = "the test may call the project wrongly"
    confidence = (_WRONG if crashes or calls else confidence) + _ALL * agree / samples
    reasons = tuple(filter(None, (match, alike, crashes, calls)))
    rating = Rating(confidence=confidence, reasons=reasons, agree=agree, samples=samples)
    return judge(test, runs, facts, rating)
