"""Orders the patches of a report by how likely each is right, with the EPR of each; ties are ties.

A leader that nothing sure stands behind is none. docs/ranking.md has the model on one page; all
weights but one were fitted to labelled patches of real bugs.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from pytest_brt.rank.remarks import SPECIAL
from pytest_brt.rank.variations import WEAK
from pytest_brt.report.match import ADDRESS
from pytest_brt.types import (
    COUNTS,
    Author,
    JudgedTest,
    Measured,
    Note,
    PatchResult,
    Rank,
    Review,
    Standing,
    TestRun,
    Verdict,
)

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
#: How many times the odds of another a patch must have to be told apart from it.
_MARGIN = math.e
#: "Best" is said where the share of leaders that were right is surely no lower.
_LEAST = 0.7
#: Quantile of the normal distribution for the lower end of a 95 % interval.
_QUANTILE = 1.96
#: The evidence of a test that a person gave or accepted: such a one is right.
YOURS = "yours"

#: How often patches that led clearly were right, by the evidence that they led on.
Leaders = Mapping[str, Measured]


def rank(
    results: Sequence[PatchResult],
    tests: Iterable[JudgedTest],
    leaders: Leaders | None = None,
) -> tuple[Rank, ...]:
    """Order `results` by the probability that each is right, best first.

    A patch on which no bug test could be run stands where one does of which nothing is known; one
    that does not apply, or for which there was no time, has no score and comes last. Neither has
    any where no bug test ran at all: without one the order is that of what existing tests say.
    """
    bug_tests = [judged for judged in tests if judged.judgement.candidate]
    is_tried = any(result.verdicts or result.passes_own for result in results)
    ranks = [_with_epr(result, results) for result in results]
    rated = [r for r in ranks if is_tried and r.result.applies and not r.result.is_late]
    deciding = _without_own_word(results, bug_tests)
    # Where no test is left, what patches say of themselves is better than nothing.
    scored = _by_score(rated, deciding or bug_tests)
    unrated = sorted(
        (replace(r, standing=Standing.NO_EVIDENCE) for r in ranks if r not in rated),
        key=lambda one: (not one.result.applies, _broken(one), one.name),
    )
    # It is known all the same how many existing tests those break that apply.
    if not bug_tests:
        applied = [one for one in unrated if one.result.applies]
        unrated[: len(applied)] = _placed(applied, [*map(_broken, applied)])
    return (
        *_with_standings(scored, deciding, leaders or measured_leaders()),
        *unrated,
    )


def _with_epr(result: PatchResult, results: Iterable[PatchResult]) -> Rank:
    """Return a rank with the Ensemble Pass Rate: the share of bug tests that pass (paper 001).

    Every bug test counts, also those that fail alike. INVALID cells are our fault and count neither
    as passed nor as run.
    """
    verdicts = list(result.verdicts.values())
    passed, total = verdicts.count(Verdict.PASS), len(verdicts)
    return Rank(
        result=result,
        epr=passed / total if total else None,
        passed=passed,
        total=total,
        copies=tuple(
            other.patch.name
            for other in results
            if other.normal == result.normal and other is not result
        ),
    )


def _broken(one: Rank) -> int:
    return len(one.result.regressions)


def _placed(ranks: Sequence[Rank], keys: Sequence[object]) -> list[Rank]:
    """Return `ranks` in their order with the places that all of equal key share."""
    firsts = [keys.index(key) + 1 for key in keys]
    return [
        replace(one, place=(first, first + firsts.count(first) - 1))
        for one, first in zip(ranks, firsts, strict=True)
    ]


def _without_own_word(
    results: Sequence[PatchResult], tests: Iterable[JudgedTest]
) -> list[JudgedTest]:
    """Return the tests but for those that pass on nothing but patches that bring them.

    Such a test is the word of its author, who may have asked for something wrong.
    """
    deciding = []
    for judged in tests:
        own = {one.normal for one in results if _passes(one.own_cells, judged)}
        passed = {one.normal for one in results if _passes(one.cells, judged)}
        if not own or passed - own:
            deciding.append(judged)
    return deciding


def _passes(cells: Iterable[TestRun], judged: JudgedTest) -> bool:
    """Say whether a test is among `cells`, and passes."""
    return any(
        cell.test == judged.test.id and cell.verdict is Verdict.PASS for cell in cells
    )


def _by_score(ranks: Iterable[Rank], tests: Sequence[JudgedTest]) -> list[Rank]:
    """Return the ranks, best first, with scores: none at fault has more than one that is not.

    Those that pass the same tests are as likely right as the best of them, and stand together. Of
    equally likely ones those come first that break fewer existing tests, then those with more EPR.
    """
    groups: dict[object, list[Rank]] = {}
    for one in sorted(ranks, key=lambda one: (-(one.epr or 0.0), one.name)):
        groups.setdefault(_behaviour(one.result), []).append(one)
    rated = sorted(
        ((min(score(r.result, tests) for r in group), group) for group in groups.values()),
        key=lambda pair: pair[0],
    )
    scored: list[Rank] = []
    against = -math.inf
    for number, (best, group) in enumerate(rated, 1):
        against = max(against, best.odds_against)
        share = 1 / (1 + math.exp(against))
        scored += [replace(r, group=number, score=share) for r in group]
    return _placed(scored, [rated[one.group - 1][0] for one in scored])


def _behaviour(result: PatchResult) -> tuple[object, ...]:
    """Return what patches share that pass the same tests: verdicts, breakage, special-casing.

    A patch on which no bug test ran shares it with none.
    """
    passing = frozenset(
        (cell.test, cell.verdict is Verdict.PASS)
        for cell in (*result.cells, *result.own_cells)
        if cell.verdict is not Verdict.INVALID
    )
    broken = frozenset(regression.test for regression in result.regressions)
    return passing, broken, result.remark(SPECIAL) is None, passing or result.patch.name


# -- how likely a patch is right --------------------------------------------------------------


class Score(NamedTuple):
    """What the facts about a patch add up to; a lower one is better."""

    #: It makes existing tests fail, fails a test that is believed, or changes nothing.
    is_at_fault: bool
    #: The log-odds that it is wrong, to two decimals: less puts no patch before another.
    odds_against: float
    #: How many existing tests it makes fail, which counts between equals.
    broken: int


def score(result: PatchResult, tests: Sequence[JudgedTest]) -> Score:
    """Return how likely a patch is right; `tests` are those that decide."""
    verdicts = result.verdicts
    seen = [judged for judged in tests if judged.test.id in verdicts]
    failed = [judged for judged in seen if verdicts[judged.test.id] is not Verdict.PASS]
    odds = PRIOR + TESTS * _by_tests(seen, failed)
    if result.regressions:
        odds += BREAKS
    if result.remark(SPECIAL):
        odds += SINGLES_OUT
    least = _HALF if result.remark("changes-nothing-shown") else COUNTS
    return Score(
        is_at_fault=bool(result.regressions)
        or any(judged.judgement.confidence >= least for judged in failed),
        odds_against=-round(odds, 2),
        broken=len(result.regressions),
    )


def _by_tests(seen: Sequence[JudgedTest], failed: Sequence[JudgedTest]) -> float:
    """Return the share of tests that pass, from -1 for none to 1 for all, by their confidence.

    It is as strong as the highest confidence among them. Tests that share a voice share one vote.
    """
    if not seen:
        return 0.0
    alike = Counter(map(_voice, seen))
    votes = [one.judgement.confidence / alike[_voice(one)] for one in seen]
    marks = [-1 if one in failed else 1 for one in seen]
    return max(one.judgement.confidence for one in seen) * fmean(marks, votes)


def _voice(judged: JudgedTest) -> tuple[str, ...]:
    """Return whose vote a test has: what came with a patch, or from one source, has one together.

    Others share it where they fail in the same words.
    """
    origin, raised = judged.test.origin, judged.judgement.runs[0].raised
    words = (raised.type, ADDRESS.sub("0x", raised.message)) if raised else ()
    return origin.sources or origin.patches or words or (judged.test.id,)


# -- how sure the order is ---------------------------------------------------------------------


def _with_standings(
    ranks: Sequence[Rank], tests: Sequence[JudgedTest], leaders: Leaders
) -> list[Rank]:
    """Return `ranks`, best first and scored, with the standing of each.

    Patches that pass the same tests as the leading one are tied with it, whatever ordered them; a
    copy of it is the same patch and ties nothing. When no test passes on any patch, there is no
    evidence for one either. A patch that nothing could be compared with has no standing.
    """
    if not any(one.passed for one in ranks):
        return [replace(one, standing=Standing.NO_EVIDENCE) for one in ranks]
    first, *others = ranks
    passed = [judged for judged in tests if _passes(first.result.cells, judged)]
    differ = any(
        one.epr == first.epr and one.result.outcomes != first.result.outcomes
        for one in others
    )
    evidence = leading_evidence(passed, differ)
    behind = [replace(one, standing=_compare(one, first, passed)) for one in others]
    rivals = {one.standing for one in behind if one.name not in first.copies}
    leader = replace(first, leads_by=evidence)
    if not rivals:
        return [leader, *others]
    shared = next((it for it in (Standing.TIED, Standing.CLOSE) if it in rivals), None)
    doubt = None if shared else _doubt(first.result, evidence, leaders)
    alone = Standing.UNSURE if doubt else Standing.SEPARATED
    return [replace(leader, standing=shared or alone, doubt=doubt), *behind]


def _compare(one: Rank, leader: Rank, passed: Iterable[JudgedTest]) -> Standing:
    """Return how a patch stands to the leading one, which passes these tests.

    It is behind where it fails one of a person.
    """
    if one.group == leader.group:
        return Standing.TIED
    verdicts = one.result.verdicts
    for judged in filter(_is_yours, passed):
        if verdicts.get(judged.test.id) not in (Verdict.PASS, None):
            return Standing.BEHIND
    best, share = leader.score or 0.0, one.score or 0.0
    if best * (1 - share) < _MARGIN * share * (1 - best):
        return Standing.CLOSE
    return Standing.BEHIND


def _is_yours(judged: JudgedTest) -> bool:
    """Say whether a person gave or accepted a test."""
    return judged.review is Review.ACCEPTED or judged.test.origin.author is Author.PERSON


def leading_evidence(passed: Iterable[JudgedTest], differ: bool) -> str:
    """Return what the strongest sure test of those rests on, "" where there is none.

    Where patches `differ` that pass them, a person's decides only if it says what is right.
    """
    sure = [judged for judged in passed if judged.judgement.counts]
    if any(
        _is_yours(one) and not (differ and one.test.oracle.kind in WEAK) for one in sure
    ):
        return YOURS
    if not sure:
        return ""
    strongest = max(sure, key=lambda one: one.judgement.confidence)
    return strongest.judgement.evidence or strongest.test.origin.author


def _doubt(result: PatchResult, evidence: str, leaders: Leaders) -> Note | None:
    """Return why a patch that leads on this evidence is not called the best one."""
    guarded, row = result.guarded, leaders.get(evidence)
    if not evidence:
        return Note(code="no-sure-test", text="it passes no sure bug test")
    if result.regressions:
        return Note(code="breaks-tests", text="the best one would break none")
    # Where the user wants none to be run, the answer says so in the same sentence.
    if guarded and guarded.total and not guarded.ran:
        return Note(code="no-existing-tests", text="what it breaks is not known")
    if evidence == YOURS or result.remark("as-unpatched"):
        return result.remark("as-unpatched")
    if row is None:
        text = (
            "how often the leading patch is right on tests like these has not been measured"
        )
        return Note(code="leaders-not-measured", text=text)
    # Wilson's 95 % interval lies above a share that is so many deviations away.
    deviation = math.sqrt(row.of * _LEAST * (1 - _LEAST))
    if row.right - row.of * _LEAST > _QUANTILE * deviation:
        return None
    text = f"of {row.of} patches that led on tests like these only {row.right} were right"
    return Note(code="leaders-often-wrong", text=text)


def measured_leaders() -> Leaders:
    """Return how many patches led clearly on each kind of evidence, and how many were right."""
    text = Path(__file__).with_name("leaders.toml").read_text("utf-8")
    return {name: Measured(**row) for name, row in tomllib.loads(text).items()}
