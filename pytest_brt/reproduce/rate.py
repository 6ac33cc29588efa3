"""How much is held of a model's failing test, by how many samples agree and how it fails.

How often such tests are right was not measured here: the confidence puts them in order and is not
said. One counts by itself where it compares the values of the report, or where its failure is the
reported one and most samples fail so; else where a model's words for it hold (`questions`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.oracle.judge import Rating, judge, run_tests
from pytest_brt.oracle.report_facts import failure_matches_report, states_values
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import COUNTS, CandidateTest, Issue, JudgedTest, TestRun
from pytest_brt.types.report import Reading

#: The failure is the reported one, or not, or speaks against the test; what agreement adds.
_MATCH, _NO_MATCH, _WRONG, _ALL = 0.5, 0.3, 0.1, 0.09
#: So many samples that fail alike are no accident, where they are most.
_AGREE = 3


def judge_tests(tests: Sequence[CandidateTest], bench: Workbench, issue: Issue) -> list[JudgedTest]:
    """Run a model's tests on the unpatched tree and judge each by itself."""
    runs = run_tests(tests, bench.engine, bench.repeat, deadline=bench.deadline)
    return [judge_written(test, runs[test.id], bench.facts(issue)) for test in tests]


def judge_written(
    test: CandidateTest,
    runs: tuple[TestRun, ...],
    facts: Reading,
    agree: int = 1,
    samples: int = 1,
) -> JudgedTest:
    """Judge a model's test by its runs on the unpatched tree.

    `agree` of `samples` fail alike, this one too.
    """
    run = runs[0] if runs else None
    raised, is_wrong = (run.raised, run.mismatch) if run else (None, False)
    match = failure_matches_report(facts, test.source or "", raised)
    counts = states_values(facts, raised) or (match and agree >= _AGREE and agree * 2 > samples)
    held = COUNTS if counts else _MATCH if match else _NO_MATCH
    reasons = (
        match,
        f"{agree} of {samples} samples fail alike" if samples > 1 else "",
        "the test may call the project wrongly" if is_wrong else "",
    )
    rating = Rating(
        confidence=(_WRONG if is_wrong else held) + _ALL * agree / samples,
        reasons=tuple(filter(None, reasons)),
    )
    return judge(test, runs, facts, rating)
