"""The weighted ranking: by how likely each patch is right, as far as that can be known."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_brt.rank.alike import copies_of, groups_of
from pytest_brt.rank.epr import placed, rank_by_epr
from pytest_brt.rank.score import facts_of, sigmoid
from pytest_brt.rank.standing import with_standings
from pytest_brt.types import JudgedTest, PatchResult, Rank, Standing, Verdict


def rank_by_weight(
    results: tuple[PatchResult, ...], tests: tuple[JudgedTest, ...]
) -> tuple[Rank, ...]:
    """Order `results` by the probability that each is right, best first.

    Plain EPR is kept on each rank. A patch on which no candidate test could be run stands where one
    does of which nothing is known; those that do not apply come last and have no score, and neither
    has any where no candidate ran at all. Without any candidate test the order is that of what
    existing tests say. See docs/ranking.md for the model.
    """
    candidates = [judged for judged in tests if judged.judgement.candidate]
    plain = {rank.name: rank for rank in rank_by_epr(results, tests)}
    is_tried = any(result.verdicts or result.passes_own for result in results)
    rated = [result for result in results if is_tried and result.applies]
    known = {result.patch.name for result in rated}
    rest = _unrated([rank for rank in plain.values() if rank.name not in known], bool(candidates))
    ranks = [
        replace(plain[result.patch.name], copies=copies, group=group)
        for result, copies, group in zip(rated, copies_of(rated), groups_of(rated), strict=True)
    ]
    deciding = _without_own_word(rated, candidates)
    # Where no test is left, what patches say of themselves is better than nothing.
    scored = _scored(ranks, deciding or candidates)
    return with_standings((*scored, *rest), deciding)


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


def _scored(ranks: Sequence[Rank], tests: Sequence[JudgedTest]) -> list[Rank]:
    """Return the ranks, best first, with scores: none at fault has more than one that is not."""
    facts = {rank.name: facts_of(rank.result, tests) for rank in ranks}
    most = min((fact.odds for fact in facts.values() if not fact.is_at_fault), default=math.inf)
    # Those that pass the same tests are as likely right as the best of them.
    by_odds = sorted(ranks, key=lambda rank: facts[rank.name].odds)
    best = {rank.group: facts[rank.name] for rank in by_odds}
    scored = []
    for rank in ranks:
        fact = best[rank.group]
        score = sigmoid(min(fact.odds, most) if fact.is_at_fault else fact.odds)
        scored.append(replace(rank, score=score, because=fact.reasons))
    # Differences that only the order of additions makes are none.
    keys = {name: (fact.is_at_fault, -round(fact.odds, 9)) for name, fact in facts.items()}
    return _placed(scored, keys)


def _placed(ranks: list[Rank], keys: Mapping[str, tuple[bool, float]]) -> list[Rank]:
    """Order by `keys` and give places, one for a group; the rank stays that of EPR.

    A group stands where its best one does, so that it is not torn apart; groups are numbered in
    that order.
    """
    best: dict[int, tuple[bool, float]] = {}
    for rank in ranks:
        at = keys[rank.name]
        best[rank.group] = min(best.get(rank.group, at), at)
    ranks.sort(key=lambda r: (best[r.group], keys[r.name], r.name))
    numbers: dict[int, int] = {}
    return [
        replace(rank, group=numbers.setdefault(rank.group, len(numbers) + 1))
        for rank in placed(ranks, lambda rank: best[rank.group])
    ]


def _unrated(ranks: Sequence[Rank], tested: bool) -> list[Rank]:
    """Order patches without EPR; where there is no test at all, those that apply get places.

    What is known then is how many existing tests they break.
    """
    results = [rank.result for rank in ranks]
    keys = {r.patch.name: (not r.applies, len(r.regressions)) for r in results}
    found = [
        replace(rank, copies=copies, standing=Standing.NO_EVIDENCE)
        for rank, copies in zip(ranks, copies_of(results), strict=True)
    ]
    found.sort(key=lambda rank: (keys[rank.name], rank.name))
    compared = 0 if tested else sum(result.applies for result in results)
    return [*placed(found[:compared], lambda rank: keys[rank.name]), *found[compared:]]
