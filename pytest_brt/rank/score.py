"""How likely a patch is right: three facts, weighed as labelled patches of real bugs tell.

All weights but one were fitted to labelled patches; docs/ranking.md has the model on one page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from pytest_brt.rank.remarks import SPECIAL
from pytest_brt.report.match import ADDRESS
from pytest_brt.types import COUNTS, JudgedTest, PatchResult, Verdict

#: Log-odds of a patch about which nothing is known.
PRIOR = -0.4
#: For passing all bug tests if they were surely right; the same taken off for failing all.
TESTS = 2.3
#: For making existing tests fail.
BREAKS = -1.7
#: For singling out the reported input, as much as for breaking existing tests: none of the labelled
#: patches does, so their labels cannot tell.
SINGLES_OUT = BREAKS
#: A patch that changes nothing stands behind one that passes a test as likely right as this.
_HALF = 0.5


class Score(NamedTuple):
    """What the facts about a patch add up to."""

    #: It makes existing tests fail, fails a test that is believed, or changes nothing.
    is_at_fault: bool
    #: The log-odds that it is wrong; what only the order of additions makes is left out.
    odds_against: float
    #: What moved them, strongest first, a few words each.
    reasons: tuple[str, ...]


def score(result: PatchResult, tests: Sequence[JudgedTest]) -> Score:
    """Return how likely a patch is right; `tests` are those that decide."""
    verdicts = result.verdicts
    seen = [judged for judged in tests if judged.test.id in verdicts]
    failed = [judged for judged in seen if verdicts[judged.test.id] is not Verdict.PASS]
    steps = (
        (TESTS * _by_tests(seen, failed), "by the bug tests"),
        (BREAKS * bool(result.regressions), "for making existing tests fail"),
        (SINGLES_OUT * bool(result.remark(SPECIAL)), "for singling out the reported input"),
    )
    moved = sorted(steps, key=lambda step: -abs(step[0]))
    least = _HALF if result.remark("changes-nothing-shown") else COUNTS
    return Score(
        is_at_fault=bool(result.regressions)
        or any(judged.judgement.confidence >= least for judged in failed),
        odds_against=-round(PRIOR + sum(step for step, _ in steps), 9),
        reasons=tuple(f"{step:+.1f} {words}" for step, words in moved if abs(step) >= 0.05),
    )


def _by_tests(seen: Sequence[JudgedTest], failed: Sequence[JudgedTest]) -> float:
    """Return the share of tests that pass, from -1 for none to 1 for all, by their confidence.

    It is as strong as the highest confidence among them. Tests that share a voice share one vote.
    """
    if not seen:
        return 0.0
    alike = Counter(map(_voice, seen))
    votes = {one.test.id: one.judgement.confidence / alike[_voice(one)] for one in seen}
    lost = sum(votes[one.test.id] for one in failed)
    highest = max(one.judgement.confidence for one in seen)
    return highest * (1 - 2 * lost / sum(votes.values()))


def _voice(judged: JudgedTest) -> tuple[str, ...]:
    """Return whose vote a test has: what came with a patch, or from one source, has one together.

    Others share it where they fail in the same words.
    """
    origin, raised = judged.test.origin, judged.judgement.runs[0].raised
    words = (raised.type, ADDRESS.sub("0x", raised.message)) if raised else ()
    return origin.sources or origin.patches or words or (judged.test.id,)
