"""Chooses the failing test that a repair is given, without knowing the fix (paper 001, 45)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from pytest_brt.types import Attempt, Author, Ending, JudgedTest, Trajectory, Verdict

#: Candidates that a model is asked about.
_ASKED = 5


def choose_brt(
    attempts: Sequence[Attempt],
    given: Sequence[JudgedTest],
    seed: int,
    says: Callable[[JudgedTest], bool | None] = lambda _: None,
) -> JudgedTest | None:
    """Return the test to give to a repair (paper 001, "Agentic APR"); None without a candidate.

    Preferred is, in this order: a failure that a model holds for the bug's, a run that ended
    because its model said so, and one whose last execution of a test failed; among equals it is
    drawn. A run without a dialogue ended by itself, and its last execution is the judge's.

    `given` are tests that a person gave, which are held for right. `says` tells whether a model
    holds the failure for the bug's, None where it was not asked; it is called for the few most
    trusted candidates, where there are several and none is a person's.
    """
    merits = {judged.test.id: (judged, True, _last_verdict(judged, ())) for judged in given}
    for attempt in attempts:
        ended_well = all(one.ending is Ending.FINISH for one in attempt.trajectories)
        for judged in attempt.tests:
            last = _last_verdict(judged, attempt.trajectories)
            merits[judged.test.id] = (judged, ended_well, last)
    candidates = [merit for merit in merits.values() if merit[0].judgement.candidate]
    held = _held([judged for judged, *_ in candidates], says)
    ranked = [
        (judged, (judged.test.id in held, ended_well, last is Verdict.FAIL))
        for judged, ended_well, last in candidates
    ]
    most = max((merit for _, merit in ranked), default=None)
    best = [judged for judged, merit in ranked if merit == most]
    return Random(seed).choice(best) if best else None


def _last_verdict(judged: JudgedTest, dialogues: Sequence[Trajectory]) -> Verdict | None:
    """Return what the last test did that a dialogue ran, or else the last run of the judge."""
    steps = [step.verdict for told in dialogues for step in told.steps if step.verdict is not None]
    judging = [run.verdict for run in judged.judgement.runs]
    return next(reversed(steps or judging), None)


def _held(
    candidates: Sequence[JudgedTest], says: Callable[[JudgedTest], bool | None]
) -> frozenset[str]:
    """Return the ids of the candidates that a person gave, else of those that a model believes."""
    ours = frozenset(j.test.id for j in candidates if j.test.origin.author is Author.PERSON)
    if ours or len(candidates) < 2:
        return ours
    asked = sorted(candidates, key=lambda judged: -judged.judgement.confidence)[:_ASKED]
    return frozenset(j.test.id for j in asked if j.judgement.runs and says(j))
