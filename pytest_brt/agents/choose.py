"""Chooses the failing test that a repair is given, without knowing the fix (paper 001, 45)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from pytest_brt.types import Attempt, Ending, JudgedTest, Verdict


def choose_brt(
    attempts: Sequence[Attempt],
    given: Sequence[JudgedTest],
    seed: int,
    says: Callable[[JudgedTest], bool | None],
) -> JudgedTest | None:
    """Return the test to give to a repair; None without a candidate.

    One that a person gave is held for right. Of others preferred is, in this order: a failure that
    a model holds for the bug's, as `says` tells, a run that ended because its model said so, and
    one whose last execution of a test failed; among equals it is drawn.
    """
    best = [judged for judged in given if judged.judgement.candidate]
    merits: dict[tuple[bool, bool, bool], list[JudgedTest]] = {}
    for attempt in () if best else attempts:
        talks = attempt.trajectories
        ran = [step.verdict for one in talks for step in one.steps if step.verdict]
        fails = not ran or ran[-1] is Verdict.FAIL
        ends = all(talk.ending is Ending.FINISH for talk in talks)
        for judged in attempt.tests:
            if judged.judgement.candidate:
                merits.setdefault((bool(says(judged)), ends, fails), []).append(judged)
    best = best or merits.get(max(merits, default=(False, False, False)), [])
    return Random(seed).choice(best) if best else None
