"""The weighted ranking: one vote per cluster, weighed by how far its tests can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from pytest_brt.rank.cluster import Cluster, clusters_of
from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.rank.estimate import Estimate, estimate, evidence
from pytest_brt.rank.expose import exposures_of
from pytest_brt.rank.groups import copies_of, groups_of
from pytest_brt.rank.interval import beta_interval
from pytest_brt.rank.prior import Prior, priors_of
from pytest_brt.rank.standing import with_standings, without_trust
from pytest_brt.types import JudgedTest, PatchResult, Rank, Verdict


def rank_by_weight(
    results: tuple[PatchResult, ...], tests: tuple[JudgedTest, ...]
) -> tuple[Rank, ...]:
    """Order `results` by the probability that each is right, best first.

    Plain EPR is kept on each rank. Patches without EPR (they do not apply, or there is no
    candidate test) come last and have no score. See docs/ranking.md for the model.
    """
    plain = {rank.result.patch.name: rank for rank in rank_by_epr(results, tests)}
    rated = tuple(result for result in results if plain[result.patch.name].epr is not None)
    rest = [rank for rank in plain.values() if rank.epr is None]
    scored = _scored(rated, tests, plain)
    ranks = with_standings((*_ranked(scored), *_unranked(rest)))
    known = [judged for judged in tests if judged.judgement.candidate]
    if known and not any(judged.judgement.reproduces for judged in known):
        return without_trust(ranks)
    return ranks


def _scored(
    results: tuple[PatchResult, ...], tests: tuple[JudgedTest, ...], plain: dict[str, Rank]
) -> list[Rank]:
    clusters = _seen_clusters(results, tests)
    matrix = [tuple(_share(result, cluster) for cluster in clusters) for result in results]
    exposures = exposures_of(results)
    priors = priors_of(results, exposures)
    found = estimate(matrix, clusters, [prior.odds for prior in priors])
    copies, groups = copies_of(results), groups_of(results)
    votes = sum(found.reliable)
    return [
        replace(
            plain[result.patch.name],
            score=found.right[number],
            interval=beta_interval(found.right[number], votes),
            copies=copies[number],
            group=groups[number],
            because=_because(matrix[number], clusters, found, priors[number]),
            exposure=exposures[number],
        )
        for number, result in enumerate(results)
    ]


def _seen_clusters(
    results: Sequence[PatchResult], tests: tuple[JudgedTest, ...]
) -> tuple[Cluster, ...]:
    """Return the clusters; a test that has cells but is not among `tests` is alone and trusted."""
    clusters = clusters_of(tests)
    known = {test for cluster in clusters for test in cluster.tests}
    seen = {cell.test: None for result in results for cell in result.cells}
    return (
        *clusters,
        *(
            Cluster(tests=(test,), shares=(1.0,), reliability=0.5, leniency=0.3)
            for test in seen
            if test not in known
        ),
    )


def _share(result: PatchResult, cluster: Cluster) -> float | None:
    """Return the weighted share of a cluster's tests that pass on a patch."""
    verdicts = {cell.test: cell.verdict for cell in result.cells}
    passed = total = 0.0
    for test, share in zip(cluster.tests, cluster.shares, strict=True):
        verdict = verdicts.get(test, Verdict.INVALID)
        if verdict is not Verdict.INVALID:
            total += share
            passed += share * (verdict is Verdict.PASS)
    return passed / total if total else None


def _because(
    line: Sequence[float | None], clusters: Sequence[Cluster], found: Estimate, prior: Prior
) -> tuple[str, ...]:
    """Return what moved the odds most, in words."""
    moved = list(prior.reasons)
    shares = [
        (share, evidence(share, cluster, trust))
        for share, cluster, trust in zip(line, clusters, found.reliable, strict=True)
        if share is not None
    ]
    passed = sum(share > 0.5 for share, _ in shares)
    words = f"passes {passed} of {len(shares)} kinds of failure"
    moved.append((sum(step for _, step in shares), words))
    moved.sort(key=lambda pair: -abs(pair[0]))
    return tuple(f"{step:+.1f} {words}" for step, words in moved if abs(step) >= 0.05)


def _ranked(scored: list[Rank]) -> list[Rank]:
    """Give places by score, one for all that behave alike; the rank stays that of EPR.

    A group stands where its best one does, so that it is not torn apart; groups are numbered in
    that order.
    """
    best: dict[int, float] = {}
    for rank in scored:
        best[rank.group] = max(best.get(rank.group, 0.0), _rounded(rank))
    scored.sort(key=lambda rank: (-best[rank.group], -_rounded(rank), rank.result.patch.name))
    numbers: dict[int, int] = {}
    ordered: list[Rank] = []
    for _, group in groupby(scored, key=lambda rank: best[rank.group]):
        tied = list(group)
        position = len(ordered) + 1
        for rank in tied:
            others = tuple(other.result.patch.name for other in tied if other is not rank)
            number = numbers.setdefault(rank.group, len(numbers) + 1)
            ordered.append(replace(rank, place=position, placed_with=others, group=number))
    return ordered


def _rounded(rank: Rank) -> float:
    """Differences that only the order of additions makes are none."""
    return round(rank.score or 0.0, 9)


def _unranked(ranks: list[Rank]) -> list[Rank]:
    """Order those without evidence by what is known of them all the same."""
    results = [rank.result for rank in ranks]
    odds = dict(
        zip(
            (rank.result.patch.name for rank in ranks),
            (prior.odds for prior in priors_of(results, [None] * len(results))),
            strict=True,
        )
    )
    return sorted(
        ranks,
        key=lambda rank: (
            not rank.result.applies,
            -round(odds[rank.result.patch.name], 9),
            rank.result.patch.name,
        ),
    )
