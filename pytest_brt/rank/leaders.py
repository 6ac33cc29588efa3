"""How often patches that lead on the same evidence were right: the rows of ``leaders.toml``."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pytest_brt.types import Author, JudgedTest, Measured, Note, PatchResult, Review, Verdict

#: "Best" is said where the share of leaders that were right is surely no lower.
_LEAST = 0.7
#: Quantile of the normal distribution for the lower end of a 95 % interval.
_QUANTILE = 1.96
#: The evidence of a test that a person gave or accepted: such a one is right.
YOURS = "yours"

Leaders = Mapping[str, Measured]


def leading_evidence(result: PatchResult, tests: Sequence[JudgedTest]) -> str:
    """Return what the strongest sure test rests on that a patch passes, "" where it passes none."""
    verdicts = result.verdicts
    passed = [
        judged
        for judged in tests
        if judged.judgement.counts and verdicts.get(judged.test.id) is Verdict.PASS
    ]
    if any(t.review is Review.ACCEPTED or t.test.origin.author is Author.PERSON for t in passed):
        return YOURS
    strongest = max(passed, key=lambda one: one.judgement.confidence, default=None)
    return (strongest.judgement.evidence or strongest.test.origin.author) if strongest else ""


def doubt_of(evidence: str, leaders: Leaders) -> Note | None:
    """Return why a patch that leads on this evidence is not called the best one."""
    if evidence == YOURS:
        return None
    row = leaders.get(evidence)
    if row is None:
        text = "how often the leading patch is right on tests like these has not been measured"
        return Note(code="leaders-not-measured", text=text)
    if lower_bound(row) >= _LEAST:
        return None
    text = f"of {row.of} patches that led on tests like these only {row.right} were right"
    return Note(code="leaders-often-wrong", text=text)


def lower_bound(row: Measured) -> float:
    """Return the lower end of Wilson's 95 % interval of a share.

    >>> round(lower_bound(Measured(right=10, of=10)), 2)
    0.72
    """
    share, spread = row.right / row.of, _QUANTILE**2 / row.of
    middle = share + spread / 2
    return (middle - math.sqrt(spread * (share * (1 - share) + spread / 4))) / (1 + spread)


@cache
def measured_leaders() -> Leaders:
    """Return how many patches led clearly on each kind of evidence, and how many were right."""
    text = Path(__file__).with_name("leaders.toml").read_text(encoding="utf-8")
    return {name: Measured(**row) for name, row in tomllib.loads(text).items()}
