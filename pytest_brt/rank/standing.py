"""How sure the order of patches is: who leads clearly, what ties, when there is no evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.rank.score import length_odds, logit
from pytest_brt.types import JudgedTest, Note, Rank, Standing, Verdict

#: Log-odds by which a patch must lead to be told apart from another: odds of about 2.7 to 1.
MARGIN = 1.0


def with_standings(ranks: Sequence[Rank], tests: Sequence[JudgedTest] = ()) -> tuple[Rank, ...]:
    """Return `ranks`, ordered best first and scored, with the standing of each.

    Patches that pass the same tests as the leading one are tied with it, whatever ordered them; a
    copy of the leading patch is the same patch and ties nothing. When no test passes on any patch,
    there is no evidence for one either. A patch that nothing could be compared with has no
    standing.
    `tests` are the candidates that decide.
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


def _doubt(leader: Rank, tests: Sequence[JudgedTest]) -> Note | None:
    """Return why the leading patch does not lead clearly, whatever its odds."""
    verdicts = leader.result.verdicts
    believed = [judged.test.id for judged in tests if judged.judgement.counts]
    if not any(verdicts.get(test) is Verdict.PASS for test in believed):
        return Note(code="no-sure-test", text="it passes no sure bug test")
    if leader.result.regressions:
        return Note(code="breaks-tests", text="it breaks existing tests")
    guarded = leader.result.guarded
    # Where the user wants none to be run, the answer says so in the same sentence.
    if guarded is not None and guarded.total and not guarded.ran:
        return Note(code="no-existing-tests", text="no existing test ran on it")
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
    if leader.epr is None and rank.passed:
        return Standing.CLOSE  # nothing is known of what stands first
    # A short patch may stand first, but being short is no evidence.
    by_length = length_odds(leader.result) - length_odds(rank.result)
    lead = _odds(leader) - _odds(rank) - max(0.0, by_length)
    return Standing.CLOSE if lead < MARGIN else Standing.BEHIND


def _odds(rank: Rank) -> float:
    assert rank.score is not None, "only rated patches are compared"
    return logit(min(max(rank.score, 1e-6), 1 - 1e-6))
