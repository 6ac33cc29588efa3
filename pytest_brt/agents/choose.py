"""Chooses the failing test that a repair is given, without knowing the fix (paper 001, 45)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from pytest_brt.types import Attempt, Ending, JudgedTest, Verdict

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
    merits = {judged.test.id: (judged, (True, True, True)) for judged in given}
    made = [(judged, attempt) for attempt in attempts for judged in attempt.tests]
    made.sort(key=lambda pair: -pair[0].judgement.confidence)
    for place, (judged, attempt) in enumerate(made):
        talks = attempt.trajectories
        ran = [step.verdict for one in talks for step in one.steps if step.verdict]
        merit = (
            not given and place < _ASKED and bool(says(judged)),
            all(one.ending is Ending.FINISH for one in talks),
            not ran or ran[-1] is Verdict.FAIL,
        )
        merits.setdefault(judged.test.id, (judged, merit))
    candidates = [merit for merit in merits.values() if merit[0].judgement.candidate]
    best = max((merit for _, merit in candidates), default=None)
    held = [judged for judged, merit in candidates if merit == best]
    return Random(seed).choice(held) if held else None
