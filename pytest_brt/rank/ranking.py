"""Orders the patches of a report: by EPR, as the paper has it, and by how likely each is right.

Patches that pass the same tests tie, and a leader that nothing sure stands behind is none. See
docs/ranking.md for the model.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from pytest_brt.rank.leaders import Leaders, doubt_of, leading_evidence, measured_leaders
from pytest_brt.rank.score import length_odds, logit, score, sigmoid
from pytest_brt.types import (
    JudgedTest,
    Note,
    PatchResult,
    Rank,
    Standing,
    Verdict,
)

#: Log-odds by which a patch must lead to be told apart from another: odds of about 2.7 to 1.
MARGIN = 1.0


def rank(
    results: tuple[PatchResult, ...],
    tests: tuple[JudgedTest, ...],
    leaders: Leaders | None = None,
) -> tuple[Rank, ...]:
    """Order `results` by the probability that each is right, best first.

    A patch on which no bug test could be run stands where one does of which nothing is known; one
    that does not apply, or for which there was no time, has no score and comes last. Neither has
    any where no bug test ran at all: without one the order is that of what existing tests say.
    """
    candidates = [judged for judged in tests if judged.judgement.candidate]
    ranks = [replace(one, copies=_copies(one, results)) for one in rank_by_epr(results)]
    is_tried = any(result.verdicts or result.passes_own for result in results)
    rated = [one for one in ranks if is_tried and one.result.applies and not one.result.is_late]
    unrated = [one for one in ranks if one not in rated]
    deciding = _without_own_word(results, candidates)
    # Where no test is left, what patches say of themselves is better than nothing.
    ordered = (*_by_score(rated, deciding or candidates), *_by_breakage(unrated, not candidates))
    return _with_standings(ordered, deciding, measured_leaders() if leaders is None else leaders)


def rank_by_epr(results: Iterable[PatchResult]) -> tuple[Rank, ...]:
    """Order `results` by EPR alone, best first; those without one come last, by name.

    Every bug test counts, also those that fail alike. INVALID cells are our fault and count neither
    as passed nor as run. Equal EPR is a tie: competition ranks (1, 1, 3), and each names the
    others. (Paper 001, section on fix selection.)
    """
    ranks = []
    for result in results:
        total = len(result.verdicts)
        passed = sum(verdict is Verdict.PASS for verdict in result.verdicts.values())
        epr = passed / total if total else None
        ranks.append(Rank(result=result, epr=epr, rank=None, passed=passed, total=total))
    ranks.sort(key=lambda one: (one.epr is None, -(one.epr or 0), not one.result.applies, one.name))
    rated = _placed([one for one in ranks if one.epr is not None], lambda one: one.epr)
    return (*(replace(one, rank=one.place) for one in rated), *ranks[len(rated) :])


def _placed(ranks: Iterable[Rank], key: Callable[[Rank], object]) -> list[Rank]:
    """Return `ranks` in their order with places, one for all of equal `key`."""
    placed: list[Rank] = []
    for _, group in groupby(ranks, key=key):
        names = [(one, one.name) for one in group]
        place = len(placed) + 1
        for one, name in names:
            others = tuple(other for _, other in names if other != name)
            placed.append(replace(one, place=place, placed_with=others))
    return placed


def _copies(one: Rank, results: Iterable[PatchResult]) -> tuple[str, ...]:
    """Return the names of the other patches that make the same program."""
    normal = one.result.normal
    same = (other.patch.name for other in results if normal and other.normal == normal)
    return tuple(name for name in same if name != one.name)


def _without_own_word(
    results: Sequence[PatchResult], tests: Sequence[JudgedTest]
) -> list[JudgedTest]:
    """Return the tests but for those that pass on nothing but patches that bring them.

    Such a test is the word of its author, who may have asked for something wrong.
    """
    passing: dict[str, set[str]] = defaultdict(set)
    bringing: dict[str, set[str]] = defaultdict(set)
    for result in results:
        program = result.normal or result.patch.name
        for cell in result.own_cells:
            bringing[cell.test].add(program)
        for cell in (*result.cells, *result.own_cells):
            if cell.verdict is Verdict.PASS:
                passing[cell.test].add(program)
    return [
        judged
        for judged in tests
        if not passing[judged.test.id] or passing[judged.test.id] - bringing[judged.test.id]
    ]


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
    return (passing, broken, bool(result.special)) if passing else (result.patch.name,)


def _by_breakage(ranks: list[Rank], may_compare: bool) -> list[Rank]:
    """Return ranks without scores; where there is no test at all, those that apply get places.

    What is known then is how many existing tests they break.
    """

    def key(one: Rank) -> tuple[bool, int]:
        return (not one.result.applies, len(one.result.regressions))

    ranks.sort(key=lambda one: (key(one), one.name))
    applied = [one for one in ranks if may_compare and one.result.applies]
    return [*_placed(applied, key), *ranks[len(applied) :]]


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
    leader = rated[0]
    rivals = [one for one in rated[1:] if one.name not in leader.copies]
    near = {_compare(rival, leader) for rival in rivals}
    first = next((it for it in (Standing.TIED, Standing.CLOSE) if it in near), Standing.SEPARATED)
    doubt = _doubt(leader, tests, leaders) if first is Standing.SEPARATED and rivals else None
    standings = [
        Standing.NO_EVIDENCE if one.score is None else (_compare(one, leader) if rivals else None)
        for one in ranks
    ]
    head = replace(
        leader,
        standing=(Standing.UNSURE if doubt else first) if rivals else None,
        doubt=doubt,
        leads_by=leading_evidence(leader.result, tests),
    )
    rest = zip(ranks[1:], standings[1:], strict=True)
    return (head, *(replace(one, standing=standing) for one, standing in rest))


def _compare(one: Rank, leader: Rank) -> Standing:
    if one.group == leader.group:
        return Standing.TIED
    if leader.epr is None and one.passed:
        return Standing.CLOSE  # nothing is known of what stands first
    # A short patch may stand first, but being short is no evidence.
    by_length = length_odds(leader.result) - length_odds(one.result)
    lead = logit(leader.score or 0) - logit(one.score or 0) - max(0.0, by_length)
    return Standing.CLOSE if lead < MARGIN else Standing.BEHIND


def _doubt(leader: Rank, tests: Sequence[JudgedTest], leaders: Leaders) -> Note | None:
    """Return why the leading patch does not lead clearly, whatever its odds."""
    evidence = leading_evidence(leader.result, tests)
    if not evidence:
        return Note(code="no-sure-test", text="it passes no sure bug test")
    if leader.result.regressions:
        return Note(code="breaks-tests", text="it breaks existing tests")
    guarded = leader.result.guarded
    # Where the user wants none to be run, the answer says so in the same sentence.
    if guarded is not None and guarded.total and not guarded.ran:
        return Note(code="no-existing-tests", text="no existing test ran on it")
    if leader.result.as_unpatched is not None:
        return leader.result.as_unpatched
    return doubt_of(evidence, leaders)


def without_separation(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return `ranks` for a ranking that lacks patches: who leads is not known yet."""
    unknown = (Standing.SEPARATED, Standing.UNSURE, Standing.BEHIND)
    return tuple(
        replace(one, standing=None, doubt=None) if one.standing in unknown else one for one in ranks
    )
