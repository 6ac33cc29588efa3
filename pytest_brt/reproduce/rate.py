"""How likely a model's failing test is right, by how many samples agree and how it fails.

The shares were counted on the features that LIBRO's authors published: 6,253 distinct failing tests
of 570 Java bugs, 50 samples each. Each multiplies the odds by how far it lies from the base.
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
from pytest_brt.types import CandidateTest, JudgedTest, TestRun

#: Share of all failing tests that are right; of those that fail alike with at most so many others.
_BASE = 0.315
_AGREEMENT = ((1, 0.12), (3, 0.22), (9, 0.37), (19, 0.48), (10_000, 0.61))
_SAMPLES = 50
#: The failure is the reported one, or not; the report states both values; it is about a wrong value
#: and the test crashes; the test calls the project as it cannot be called.
_MATCH, _NO_MATCH, _STATED, _OTHER_KIND, _MISUSE = 0.50, 0.26, 0.75, 0.18, 0.10


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
    if not runs:
        return judge(test, runs, facts, Rating())
    run = runs[0]
    match = failure_matches_report(facts, test.source or "", run.raised)
    crashed = run.raised is not None and simple(run.raised.type) not in ASSERTIONS
    signs = [
        (_STATED if states_values(facts, run.raised) else _MATCH if match else _NO_MATCH, match),
    ]
    if samples > 1:
        told = f"{agree} of {samples} samples fail alike"
        signs.append((agreement_share(agree, samples), told))
    if crashed and not facts.is_crash and not match:
        signs.append((_OTHER_KIND, "crashes, though the report is about a wrong value"))
    if run.mismatch:
        signs.append((_MISUSE, "the test may call the project wrongly"))
    value = _BASE
    for share, _ in signs:
        value = with_odds(value, _odds(share) / _odds(_BASE))
    reasons = tuple(text for _, text in signs if text)
    rating = Rating(confidence=round(value, 2), reasons=reasons, agree=agree, samples=samples)
    return judge(test, runs, facts, rating)


def with_odds(confidence: float, factor: float) -> float:
    """Return the confidence with `factor` times its odds, in 0.01..0.95."""
    odds = factor * _odds(min(confidence, 1 - 1e-9))
    return min(max(odds / (1 + odds), 0.01), 0.95)


def _odds(share: float) -> float:
    return share / (1 - share)


def agreement_share(agree: int, samples: int) -> float:
    """Return the share for so much agreement; with fewer samples each that agrees says more.

    >>> agreement_share(1, 50), agreement_share(20, 50)
    (0.12, 0.61)
    """
    part = (min(samples, _SAMPLES) / _SAMPLES) ** 0.5
    counted = 1 + (agree - 1) / part
    share = next(share for most, share in _AGREEMENT if counted <= most)
    return share if share >= _BASE else _BASE + (share - _BASE) * part
