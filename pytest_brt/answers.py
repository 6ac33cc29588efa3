"""What the results of a run come to, as facts."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.types import (
    Lack,
    Leader,
    Level,
    NoLeader,
    NoneFixes,
    NotRun,
    OnlyOne,
    Rank,
    RankingAnswer,
    Standing,
    Unfinished,
)


def answer_ranking(ranks: Sequence[Rank], not_run: NotRun | None = None) -> RankingAnswer:
    """Return what a ranking, best first, says about its patches.

    Without the patches that it lacks, `not_run`, there is no answer.
    """
    if not_run is not None:
        return Unfinished(missing=len(not_run.patches), of=not_run.of)
    tried = [rank for rank in ranks if rank.epr is not None]
    if not tried and any(rank.place for rank in ranks):
        return NoneFixes(lack=Lack.NO_BUG_TEST)
    if not tried:
        return NoneFixes(lack=Lack.NO_TEST_RAN)
    if tried[0].contradiction is not None:
        return tried[0].contradiction
    if not any(rank.passed for rank in tried):
        return NoneFixes(lack=Lack.NONE_PASSES)
    return _leading(tried)


def _leading(tried: Sequence[Rank]) -> RankingAnswer:
    leader = tried[0]
    if len(tried) == 1 + len(leader.copies):
        return OnlyOne(patch=leader.name)
    if leader.standing is Standing.TIED:
        return NoLeader(patches=_level_with(leader, tried), level=Level.BEHAVIOUR)
    if leader.standing is Standing.CLOSE:
        return NoLeader(patches=_level_with(leader, tried), level=Level.ODDS)
    if leader.standing is Standing.UNSURE:
        return Leader(patch=leader.name, doubt=leader.doubt)
    if leader.standing is None and leader.placed_with:
        patches = (leader.name, *leader.placed_with)
        return NoLeader(patches=patches, level=Level.BUG_TESTS)
    alone = leader.standing is not Standing.SEPARATED
    return Leader(patch=leader.name, by_bug_tests_alone=alone)


def _level_with(leader: Rank, tried: Sequence[Rank]) -> tuple[str, ...]:
    return tuple(
        rank.name
        for rank in tried
        if rank.standing is leader.standing and rank.name not in leader.copies
    )
