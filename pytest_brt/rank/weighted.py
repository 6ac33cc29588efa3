"""The weighted ranking: by how likely each patch is right, as far as that can be known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_brt.rank.disputes import count_votes, settle
from pytest_brt.rank.epr import placed, rank_by_epr
from pytest_brt.rank.score import facts_of, length_odds, logit, score_interval, sigmoid
from pytest_brt.types import (
    Contradicted,
    Doubt,
    JudgedTest,
    PatchResult,
    Rank,
    Standing,
    Verdict,
)


def rank_by_weight(
    results: tuple[PatchResult, ...], tests: tuple[JudgedTest, ...]
) -> tuple[Rank, ...]:
    """Order `results` by the probability that each is right, best first.

    Plain EPR is kept on each rank. Patches without EPR (they do not apply, or no candidate test
    could be run) come last and have no score; without any candidate test the order is that of
    what existing tests say, and of agreement. See docs/ranking.md for the model.

    Existing tests that are in dispute are no regressions in the ranks that come out.
    """
    settled = settle(results, tests)
    tests = settled.tests
    candidates = [judged for judged in tests if judged.judgement.candidate]
    plain = {rank.name: rank for rank in rank_by_epr(settled.results, tests)}
    rated = [result for result in settled.results if plain[result.patch.name].epr is not None]
    rest = _unrated([rank for rank in plain.values() if rank.epr is None], bool(candidates))
    ranks = [
        replace(plain[result.patch.name], copies=copies, group=group)
        for result, copies, group in zip(rated, copies_of(rated), groups_of(rated), strict=True)
    ]
    votes = count_votes(rated, candidates)
    scored = _scored(ranks, votes.having)
    is_decided = votes.is_any_passed and not _is_upside_down(scored, candidates)
    if votes.contradicted is not None and not is_decided:
        return (*_without_leader(ranks, votes.contradicted), *rest)
    return with_standings((*scored, *rest), votes.having)


def _is_upside_down(ranks: Sequence[Rank], tests: Sequence[JudgedTest]) -> bool:
    """Say whether a patch that passes no bug test stands above one that passes those believed."""
    believed = [judged.test.id for judged in tests if judged.judgement.counts]
    at_none = next((at for at, rank in enumerate(ranks) if not rank.passed), len(ranks))
    below = (rank.result.verdicts for rank in ranks[at_none:])
    return bool(believed) and any(
        all(verdicts.get(test) is Verdict.PASS for test in believed) for verdicts in below
    )


def _without_leader(ranks: Sequence[Rank], contradiction: Contradicted) -> Iterator[Rank]:
    """Yield ranks in the order of EPR, without places: no test is left to decide between them."""
    for rank in sorted(ranks, key=lambda rank: (rank.rank, rank.name)):
        yield replace(
            rank,
            place=None,
            placed_with=(),
            standing=Standing.CONTRADICTED,
            contradiction=contradiction,
        )


def _scored(ranks: Sequence[Rank], tests: Sequence[JudgedTest]) -> list[Rank]:
    """Return the ranks, best first, with scores: none at fault has more than one that is not."""
    facts = {rank.name: facts_of(rank.result, tests) for rank in ranks}
    most = min((fact.odds for fact in facts.values() if not fact.is_at_fault), default=math.inf)
    scored = []
    for rank in ranks:
        fact = facts[rank.name]
        score = sigmoid(min(fact.odds, most) if fact.is_at_fault else fact.odds)
        interval = score_interval(score, fact.observations)
        scored.append(replace(rank, score=score, interval=interval, because=fact.reasons))
    # Differences that only the order of additions makes are none.
    keys = {name: (fact.is_at_fault, -round(fact.odds, 9)) for name, fact in facts.items()}
    return _placed(scored, keys)


def _placed(ranks: list[Rank], keys: Mapping[str, tuple[bool, float]]) -> list[Rank]:
    """Order by `keys` and give places, one for all that behave alike; the rank stays that of EPR.

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

    What is known then is how many existing tests they break, and how many others change the same.
    """
    results = [rank.result for rank in ranks]
    keys = {
        result.patch.name: (not result.applies, len(result.regressions), -agreement)
        for result, agreement in zip(results, agreement_of(results), strict=True)
    }
    found = [
        replace(rank, copies=copies, standing=Standing.NO_EVIDENCE)
        for rank, copies in zip(ranks, copies_of(results), strict=True)
    ]
    found.sort(key=lambda rank: (keys[rank.name], rank.name))
    compared = 0 if tested else sum(result.applies for result in results)
    return [*placed(found[:compared], lambda rank: keys[rank.name]), *found[compared:]]


def copies_of(results: Sequence[PatchResult]) -> tuple[tuple[str, ...], ...]:
    """Return, for each patch, the names of the others that make the same program."""
    return tuple(
        tuple(
            other.patch.name
            for other in results
            if other is not result and result.normal and other.normal == result.normal
        )
        for result in results
    )


def agreement_of(results: Sequence[PatchResult]) -> tuple[float, ...]:
    """Return, for each patch, the share of the others that change a definition which it changes.

    Copies count once: several people who write the same are one more voice, not ten.
    """
    found = []
    for result in results:
        others: dict[str, bool] = {}
        for other in results:
            is_copy = other is result or (result.normal and other.normal == result.normal)
            if other.applies and other.places and not is_copy:
                is_near = not set(result.places).isdisjoint(other.places)
                others.setdefault(other.normal or other.patch.name, is_near)
        found.append(sum(others.values()) / len(others) if others else 0.0)
    return tuple(found)


def groups_of(results: Sequence[PatchResult]) -> tuple[int, ...]:
    """Number the groups of patches that behave alike on everything that was run.

    Alike means the same verdict on every test with a valid cell, the same existing tests newly
    failing, and code that singles out the reported input in both or in neither. A patch that does
    not apply, or on which no candidate ran, is in no group: 0. Numbers start at 1, in order of
    appearance.
    """
    numbers: dict[tuple[object, ...], int] = {(): 0}
    return tuple(numbers.setdefault(_behaviour(result), len(numbers)) for result in results)


def _behaviour(result: PatchResult) -> tuple[object, ...]:
    valid = [c for c in (*result.cells, *result.own_cells) if c.verdict is not Verdict.INVALID]
    passing = tuple(sorted((cell.test, cell.verdict is Verdict.PASS) for cell in valid))
    if not result.applies or not passing:
        return ()
    broken = tuple(sorted(regression.test for regression in result.regressions))
    return (passing, broken, bool(result.special))


# -- how sure the order is: who leads clearly, what ties, when there is no evidence at all -------

#: Log-odds by which a patch must lead to be told apart from another: odds of about 2.7 to 1.
MARGIN = 1.0


def with_standings(ranks: Sequence[Rank], tests: Sequence[JudgedTest] = ()) -> tuple[Rank, ...]:
    """Return `ranks`, ordered best first and scored, with the standing of each.

    Patches that behave like the leading one are tied with it, whatever ordered them; a copy of
    the leading patch is the same patch and ties nothing. When no test passes on any patch, there
    is no evidence for one either. A patch that nothing could be compared with has no standing.
    `tests` are the candidates that have a vote.
    """
    rated = [rank for rank in ranks if rank.score is not None]
    if not any(rank.passed for rank in rated):
        return tuple(replace(rank, standing=Standing.NO_EVIDENCE) for rank in ranks)
    leader = rated[0]
    found = [replace(rank, standing=_standing(rank, leader, rated)) for rank in ranks]
    doubt = _doubt(leader, tests)
    if doubt and found[0].standing is Standing.SEPARATED:
        found[0] = replace(found[0], standing=Standing.UNSURE, doubt=doubt)
    return tuple(found)


def _doubt(leader: Rank, tests: Sequence[JudgedTest]) -> Doubt | None:
    """Return why the leading patch does not lead clearly, whatever its odds."""
    verdicts = leader.result.verdicts
    believed = [judged.test.id for judged in tests if judged.judgement.counts]
    if not any(verdicts.get(test) is Verdict.PASS for test in believed):
        return Doubt.NO_SURE_TEST
    if leader.result.regressions:
        return Doubt.BREAKS_TESTS
    guarded = leader.result.guarded
    # Where the user wants none to be run, the answer says so in the same sentence.
    if guarded is not None and guarded.total and not guarded.ran:
        return Doubt.NO_EXISTING_TESTS
    return None


def without_separation(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return `ranks` for a ranking that lacks patches: who leads is not known yet."""
    unknown = (Standing.SEPARATED, Standing.UNSURE, Standing.BEHIND)
    return tuple(
        replace(rank, standing=None, doubt=None) if rank.standing in unknown else rank
        for rank in ranks
    )


def _standing(rank: Rank, leader: Rank, rated: list[Rank]) -> Standing | None:
    if rank.score is None:
        return Standing.NO_EVIDENCE
    if all(other is leader or other.name in leader.copies for other in rated):
        return None  # there is nothing to compare it with
    if rank is not leader:
        return _compare(rank, leader)
    others = {_compare(other, leader) for other in rated[1:] if other.name not in leader.copies}
    near = [standing for standing in (Standing.TIED, Standing.CLOSE) if standing in others]
    return near[0] if near else Standing.SEPARATED


def _compare(rank: Rank, leader: Rank) -> Standing:
    if rank.group and rank.group == leader.group:
        return Standing.TIED
    # A short patch may stand first, but being short is no evidence.
    by_length = length_odds(leader.result) - length_odds(rank.result)
    lead = _odds(leader) - _odds(rank) - max(0.0, by_length)
    return Standing.CLOSE if lead < MARGIN else Standing.BEHIND


def _odds(rank: Rank) -> float:
    assert rank.score is not None, "only rated patches are compared"
    return logit(min(max(rank.score, 1e-6), 1 - 1e-6))
