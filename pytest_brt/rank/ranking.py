"""Orders the patches of a report by how likely each is right, with the EPR of each; ties are ties.

A leader that nothing sure stands behind is none. See docs/ranking.md for the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from pytest_brt.rank.leaders import Leaders, doubt_of, leading_evidence, measured_leaders
from pytest_brt.rank.remarks import SPECIAL
from pytest_brt.rank.score import length_odds, logit, score, sigmoid
from pytest_brt.types import JudgedTest, Note, PatchResult, Rank, Standing, Verdict

#: Log-odds by which a patch must lead to be told apart from another: odds of about 2.7 to 1.
MARGIN = 1.0


def rank(
    results: Sequence[PatchResult], tests: Iterable[JudgedTest], leaders: Leaders | None = None
) -> tuple[Rank, ...]:
    """Order `results` by the probability that each is right, best first.

    A patch on which no bug test could be run stands where one does of which nothing is known; one
    that does not apply, or for which there was no time, has no score and comes last. Neither has
    any where no bug test ran at all: without one the order is that of what existing tests say.
    """
    candidates = [judged for judged in tests if judged.judgement.candidate]
    is_tried = any(result.verdicts or result.passes_own for result in results)
    rated: list[Rank] = []
    unrated: list[Rank] = []
    for result in results:
        is_rated = is_tried and result.applies and not result.is_late
        (rated if is_rated else unrated).append(_with_epr(result, results))
    deciding = _without_own_word(results, candidates)
    # Where no test is left, what patches say of themselves is better than nothing.
    ordered = _by_score(rated, deciding or candidates)
    ordered += _by_breakage(unrated, may_compare=not candidates)
    return _with_standings(ordered, deciding, measured_leaders() if leaders is None else leaders)


def _with_epr(result: PatchResult, results: Iterable[PatchResult]) -> Rank:
    """Return a rank with the Ensemble Pass Rate: the share of bug tests that pass (paper 001).

    Every bug test counts, also those that fail alike. INVALID cells are our fault and count neither
    as passed nor as run.
    """
    verdicts, name = list(result.verdicts.values()), result.patch.name
    passed = verdicts.count(Verdict.PASS)
    return Rank(
        result=result,
        epr=passed / len(verdicts) if verdicts else None,
        passed=passed,
        total=len(verdicts),
        copies=tuple(
            other.patch.name
            for other in results
            if other.program == result.program and other.patch.name != name
        ),
    )


def _placed(ranks: Iterable[Rank], key: Callable[[Rank], object]) -> list[Rank]:
    """Return `ranks` in their order with the places that all of equal `key` share."""
    placed: list[Rank] = []
    for _, some in groupby(ranks, key=key):
        group = list(some)
        place = (len(placed) + 1, len(placed) + len(group))
        placed += [replace(one, place=place) for one in group]
    return placed


def _without_own_word(
    results: Iterable[PatchResult], tests: Sequence[JudgedTest]
) -> list[JudgedTest]:
    """Return the tests but for those that pass on nothing but patches that bring them.

    Such a test is the word of its author, who may have asked for something wrong.
    """
    own, passed = set(), set()
    for result in results:
        own |= {(cell.test, result.program) for cell in result.own_cells}
        cells = (*result.cells, *result.own_cells)
        passed |= {(c.test, result.program) for c in cells if c.verdict is Verdict.PASS}
    heard = {test for test, _ in passed - own}
    words = {test for test, _ in passed} - heard
    return [judged for judged in tests if judged.test.id not in words]


def _by_score(ranks: Sequence[Rank], tests: Sequence[JudgedTest]) -> list[Rank]:
    """Return the ranks, best first, with scores: none at fault has more than one that is not.

    Those that pass the same tests are as likely right as the best of them, and stand together.
    """
    scores = {one.name: score(one.result, tests) for one in ranks}
    groups: dict[object, list[Rank]] = {}
    for one in sorted(ranks, key=lambda one: (scores[one.name].order, one.name)):
        groups.setdefault(_behaviour(one.result), []).append(one)
    most = min((each.odds for each in scores.values() if not each.is_at_fault), default=math.inf)
    scored: list[Rank] = []
    orders: dict[int, object] = {}
    for number, group in enumerate(groups.values(), 1):
        best = scores[group[0].name]
        orders[number] = best.order
        share = sigmoid(min(best.odds, most) if best.is_at_fault else best.odds)
        scored += [replace(one, group=number, score=share, because=best.reasons) for one in group]
    return _placed(scored, lambda one: orders[one.group])


def _behaviour(result: PatchResult) -> tuple[object, ...]:
    """Return what patches share that pass the same tests: verdicts, breakage, special-casing.

    A patch on which no bug test ran shares it with none.
    """
    cells = [c for c in (*result.cells, *result.own_cells) if c.verdict is not Verdict.INVALID]
    passing = frozenset((cell.test, cell.verdict is Verdict.PASS) for cell in cells)
    broken = frozenset(regression.test for regression in result.regressions)
    return (passing, broken, result.remark(SPECIAL) is None) if passing else (result.patch.name,)


def _by_breakage(ranks: list[Rank], *, may_compare: bool) -> list[Rank]:
    """Return ranks without scores; where there is no test at all, those that apply get places.

    What is known then is how many existing tests they break.
    """

    def broken(one: Rank) -> int:
        return len(one.result.regressions)

    ranks.sort(key=lambda one: (not one.result.applies, broken(one), one.name))
    number = sum(may_compare and one.result.applies for one in ranks)
    return _placed(ranks[:number], broken) + ranks[number:]


# -- how sure the order is ---------------------------------------------------------------------


def _with_standings(
    ranks: Sequence[Rank], tests: Sequence[JudgedTest], leaders: Leaders
) -> tuple[Rank, ...]:
    """Return `ranks`, best first and scored, with the standing of each.

    Patches that pass the same tests as the leading one are tied with it, whatever ordered them; a
    copy of it is the same patch and ties nothing. When no test passes on any patch, there is no
    evidence for one either. A patch that nothing could be compared with has no standing.
    """
    rated = [one for one in ranks if one.score is not None]
    if not any(one.passed for one in rated):
        return tuple(replace(one, standing=Standing.NO_EVIDENCE) for one in ranks)
    leader, *others = rated
    is_alone = all(one.name in leader.copies for one in others)
    near = {_compare(one, leader) for one in others if one.name not in leader.copies}
    first = next((it for it in (Standing.TIED, Standing.CLOSE) if it in near), Standing.SEPARATED)
    evidence = leading_evidence(leader.result, tests)
    doubt = None
    if first is Standing.SEPARATED and not is_alone:
        doubt = _doubt(leader.result, evidence) or doubt_of(evidence, leaders)
        first = Standing.UNSURE if doubt else first
    standings = [None if is_alone else _compare(one, leader) for one in rated[1:]]
    return (
        replace(leader, standing=None if is_alone else first, doubt=doubt, leads_by=evidence),
        *(replace(one, standing=it) for one, it in zip(others, standings, strict=True)),
        *(replace(one, standing=Standing.NO_EVIDENCE) for one in ranks[len(rated) :]),
    )


def _compare(one: Rank, leader: Rank) -> Standing:
    if one.group == leader.group:
        return Standing.TIED
    if leader.epr is None and one.passed:
        return Standing.CLOSE  # nothing is known of what stands first
    # A short patch may stand first, but being short is no evidence.
    by_length = length_odds(leader.result) - length_odds(one.result)
    lead = logit(leader.score or 0) - logit(one.score or 0) - max(0.0, by_length)
    return Standing.CLOSE if lead < MARGIN else Standing.BEHIND


def _doubt(result: PatchResult, evidence: str) -> Note | None:
    """Return why a patch does not lead clearly, whatever its odds."""
    if not evidence:
        return Note(code="no-sure-test", text="it passes no sure bug test")
    if result.regressions:
        return Note(code="breaks-tests", text="it breaks existing tests")
    # Where the user wants none to be run, the answer says so in the same sentence.
    if result.guarded is not None and result.guarded.total and not result.guarded.ran:
        return Note(code="no-existing-tests", text="no existing test ran on it")
    return result.remark("as-unpatched")


def without_separation(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return `ranks` for a ranking that lacks patches: who leads is not known yet."""
    unknown = (Standing.SEPARATED, Standing.UNSURE, Standing.BEHIND)
    return tuple(
        replace(one, standing=None, doubt=None) if one.standing in unknown else one for one in ranks
    )
