"""How likely each patch is right: four facts, weighed as labelled patches of real bugs tell.

All weights but one come from ``bench/ranking.py --fit``; docs/ranking.md has the model on one page.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.types import JudgedTest, PatchResult, Verdict

#: Log-odds of a patch about which nothing is known.
START = -0.4
#: For passing all candidate tests if they were surely right; the same taken off for failing all.
TESTS = 2.3
#: For making existing tests fail.
BREAKS = -1.7
#: For each doubling of the number of changed lines, where no existing test ran.
LENGTH = -0.2
#: For singling out the reported input, as much as for breaking existing tests: none of the labelled
#: patches does, so their labels cannot tell.
SPECIAL = BREAKS

_ADDRESS = re.compile(r"0x[0-9a-f]{4,}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchFacts:
    """What is known of a patch, as numbers that are weighed."""

    #: Share of the tests that pass, weighed by their confidence, from -1 for none to 1 for all,
    #: times the highest confidence among them. Tests that fail in the same words share one vote.
    tests: float
    #: Whether it makes existing tests fail.
    breaks: bool
    #: Logarithm to base 2 of the lines changed, plus one; 0 where existing tests ran: they tell
    #: better what a long patch may harm.
    length: float
    #: Whether its code singles out the reported input.
    special: bool
    #: Whether it makes existing tests fail, or fails a test that is believed.
    is_at_fault: bool

    @property
    def odds(self) -> float:
        """The log-odds that the patch is right."""
        return START + sum(step for step, _ in self._steps)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What moved the odds, strongest first, a few words each."""
        moved = sorted(self._steps, key=lambda pair: -abs(pair[0]))
        return tuple(f"{step:+.1f} {words}" for step, words in moved if abs(step) >= 0.05)

    @property
    def _steps(self) -> tuple[tuple[float, str], ...]:
        return (
            (TESTS * self.tests, "by the bug tests"),
            (BREAKS * self.breaks, "for making existing tests fail"),
            (SPECIAL * self.special, "for singling out the reported input"),
            (LENGTH * self.length, "for its length"),
        )


def facts_of(result: PatchResult, tests: Sequence[JudgedTest]) -> PatchFacts:
    """Return what is known of a patch; `tests` are those that decide."""
    verdicts = result.verdicts
    seen = [judged for judged in tests if judged.test.id in verdicts]
    alike = Counter(map(_voice, seen))
    votes = {j.test.id: j.judgement.confidence / alike[_voice(j)] for j in seen}
    total = sum(votes.values())
    passed = sum(vote for test, vote in votes.items() if verdicts[test] is Verdict.PASS)
    share = passed / total if total else 0.5
    trust = [judged.judgement.confidence for judged in seen]
    failed = (judged for judged in seen if verdicts[judged.test.id] is not Verdict.PASS)
    breaks = bool(result.regressions)
    return PatchFacts(
        tests=max(trust, default=0.0) * (2 * share - 1),
        breaks=breaks,
        length=_length(result),
        special=bool(result.special),
        is_at_fault=breaks or any(judged.judgement.counts for judged in failed),
    )


def length_odds(result: PatchResult) -> float:
    """Return what its length adds to the log-odds that a patch is right; it is never above 0."""
    return LENGTH * _length(result)


def _length(result: PatchResult) -> float:
    return 0.0 if _is_guarded(result) else math.log2(result.size + 1)


def _is_guarded(result: PatchResult) -> bool:
    return result.guarded is not None and result.guarded.ran > 0


def _voice(judged: JudgedTest) -> tuple[str, ...]:
    """Return whose vote a test has: what came with a patch, or from one source, has one together.

    Others share it where they fail in the same words.
    """
    origin = judged.test.origin
    return origin.sources or origin.patches or _failure(judged)


def _failure(judged: JudgedTest) -> tuple[str, str]:
    """Return in which words a test fails on the unpatched tree; its own id where none are known."""
    raised = judged.judgement.runs[0].raised if judged.judgement.runs else None
    message = _ADDRESS.sub("0x", raised.message.strip())[:400] if raised else ""
    return (raised.type, message) if raised and message else ("", judged.test.id)


def logit(share: float) -> float:
    """Return the logarithm of the odds of a probability strictly between 0 and 1."""
    return math.log(share / (1 - share))


def sigmoid(value: float) -> float:
    """Return the probability whose log-odds are `value`."""
    return 1 / (1 + math.exp(-value))
