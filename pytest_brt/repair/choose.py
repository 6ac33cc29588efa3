"""Which failing test a repair is given, when nobody knows the fix (paper 001; requirement 45)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from pytest_brt.repair.quote import quote_length
from pytest_brt.types import Attempt, Ending, JudgedTest

#: Candidates that a model is asked about.
_ASKED = 5


def choose_brt(
    attempts: Sequence[Attempt],
    given: Sequence[JudgedTest],
    seed: int,
    report: str = "",
    says: Callable[[JudgedTest], bool | None] = lambda _: None,
) -> JudgedTest | None:
    """Return the test to give to a repair; None when there is no candidate.

    Preferred is, in this order: a failure that was judged to be caused by the bug, by rules and
    then by a model, a run that ended because its model said so, a last execution that failed,
    more confidence (in tenths), a longer text of the report that it asserts. Among equals it is
    drawn, likelier the more it is trusted.

    Args:
        attempts: what the strategies made; a run without a dialogue ended by itself.
        given: tests that a person gave.
        seed: of the draw.
        report: the text of the issue.
        says: whether a model holds the failure for the bug's, None where it was not asked; of
            the few most trusted candidates, where there are several and none is a person's.
    """
    ended = {judged.test.id: True for judged in given}
    tests = list(given)
    for attempt in attempts:
        for judged in attempt.tests:
            ended[judged.test.id] = _finished(attempt)
            tests.append(judged)
    held = _held(tests, says)
    merits = [_merits(judged, held, ended, report) for judged in tests]
    top = max(merits, default=None)
    best = [judged for judged, merit in zip(tests, merits, strict=True) if merit == top]
    best = [judged for judged in best if judged.judgement.candidate]
    if not best:
        return None
    weights = [max(0.01, judged.judgement.confidence) for judged in best]
    return Random(seed).choices(best, weights)[0]


def _held(tests: Sequence[JudgedTest], says: Callable[[JudgedTest], bool | None]) -> frozenset[str]:
    """Return the ids of the candidates that a person gave, else of those that a model believes."""
    candidates = [judged for judged in tests if judged.judgement.candidate]
    ours = frozenset(j.test.id for j in candidates if j.test.origin.strategy == "given")
    if ours:
        return ours
    candidates.sort(key=lambda judged: -judged.judgement.confidence)
    asked = candidates[:_ASKED] if len(candidates) > 1 else []
    return frozenset(j.test.id for j in asked if j.judgement.runs and says(j))


def _merits(
    judged: JudgedTest, held: frozenset[str], ended: Mapping[str, bool], report: str
) -> tuple[bool, bool, bool, bool, float, int]:
    runs = judged.judgement.runs
    failed = bool(runs) and runs[-1].verdict.value == "FAIL"
    trust = round(judged.judgement.confidence, 1)
    quoted = quote_length(judged, report)
    test = judged.test.id
    return judged.judgement.candidate, test in held, ended[test], failed, trust, quoted


def _finished(attempt: Attempt) -> bool:
    return all(one.ending is Ending.FINISH for one in attempt.trajectories)
