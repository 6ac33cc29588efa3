"""Chooses the failing test that a repair is given, without knowing the fix (paper 001, 45)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from pytest_brt.types import Attempt, Author, Ending, JudgedTest, Verdict

#: Candidates that a model is asked about.
_ASKED = 5


def choose_brt(
    attempts: Sequence[Attempt],
    given: Sequence[JudgedTest],
    seed: int,
    says: Callable[[JudgedTest], bool | None],
) -> JudgedTest | None:
    """Return the test to give to a repair; None without a candidate.

    Preferred is, in this order: a failure that a model holds for the bug's, a run that ended
    because its model said so, and one whose last execution of a test failed; among equals it is
    drawn. `given` are tests of a person's, which are held for right. `says` tells whether a model
    holds a failure for the bug's; it is called for the few most trusted candidates.
    """
    merits = {judged.test.id: (judged, True, True) for judged in given}
    for attempt in attempts:
        ended_well = all(one.ending is Ending.FINISH for one in attempt.trajectories)
        ran = [step.verdict for one in attempt.trajectories for step in one.steps if step.verdict]
        fails = not ran or ran[-1] is Verdict.FAIL
        merits |= {judged.test.id: (judged, ended_well, fails) for judged in attempt.tests}
    candidates = [merit for merit in merits.values() if merit[0].judgement.candidate]
    trusted = sorted((one for one, *_ in candidates), key=lambda one: -one.judgement.confidence)
    held = [one for one in trusted if one.test.origin.author is Author.PERSON]
    if not held and len(trusted) > 1:
        held = [one for one in trusted[:_ASKED] if says(one)]
    ranked = {id(one): (one in held, well, fails) for one, well, fails in candidates}
    best = [one for one, *_ in candidates if ranked[id(one)] == max(ranked.values())]
    return Random(seed).choice(best) if best else None
