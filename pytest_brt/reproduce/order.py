"""What becomes of tests that ran: how likely each is right, and which are shown.

How often a model's tests are right was not measured here: the confidence puts them in order and is
not said. One counts by itself where it compares the values of the report, or where its failure is
the reported one and most samples fail so; else where a model names the words of the report that
ask for it (`auto`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_brt.oracle.judge import dropped, judge, run_tests
from pytest_brt.oracle.report_facts import failure_matches_report, states_values
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.reproduce.strategy import KEEP, Workbench
from pytest_brt.types import (
    COUNTS,
    Attempt,
    CandidateTest,
    Issue,
    JudgedTest,
    TestRun,
)
from pytest_brt.types.report import Reading

#: The failure is the reported one, or not, or speaks against the test; what agreement adds.
_MATCH, _NO_MATCH, _WRONG, _ALL = 0.5, 0.3, 0.1, 0.09
#: So many samples that fail alike are no accident, where they are most.
_AGREE = 3


def judge_tests(
    tests: Sequence[CandidateTest], bench: Workbench, issue: Issue
) -> list[JudgedTest]:
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
    run = runs[0]
    match = failure_matches_report(facts, test.source or "", run.raised)
    counts = states_values(facts, run.raised) or (
        match and agree >= _AGREE and agree * 2 > samples
    )
    held = COUNTS if counts else _MATCH if match else _NO_MATCH
    confidence = (_WRONG if run.mismatch else held) + _ALL * agree / samples
    return judge(test, runs, facts, confidence=confidence)


def select(judged: Sequence[JudgedTest]) -> tuple[JudgedTest, ...]:
    """Return all tests, best first; beyond some candidates the rest are none any more.

    Candidates go by confidence, and in their order where it is the same.
    """
    tests = without_doubles(sorted(judged, key=lambda one: -one.judgement.confidence))
    good = [item for item in tests if item.judgement.candidate]
    reason = f"not kept: {KEEP} likelier ones were found"
    over = [dropped(item, reason) for item in good[KEEP:]]
    return (*good[:KEEP], *over, *(item for item in tests if item not in good))


def without_doubles(
    tests: Iterable[JudgedTest], known: dict[str, str] | None = None
) -> tuple[JudgedTest, ...]:
    """Return `tests`; candidates with the code of one before them are none any more.

    Names and layout do not count. `known` has the names of candidates by their code, and takes
    these.
    """
    known = {} if known is None else known
    once = []
    for item in tests:
        key = test_key(item.test.source or item.test.id) if item.judgement.candidate else ""
        once.append(
            dropped(item, f"the same code as {known[key]}") if key in known else item
        )
        if key:
            known.setdefault(key, item.test.name)
    return tuple(once)


def without_repeats(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts; what several runs of a strategy wrote is a candidate once."""
    known: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    return tuple(
        replace(one, tests=without_doubles(one.tests, known[one.issue, one.strategy]))
        for one in attempts
    )
