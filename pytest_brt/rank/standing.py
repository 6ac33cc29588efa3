"""How sure the order is: separated, tied, too close to call, or no evidence at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.patches.testers import REMARK
from pytest_brt.rank.reliability import logit
from pytest_brt.types import NotRun, Rank, Standing

#: Log-odds by which a patch must lead to be told apart from another: odds of about 2.7 to 1.
MARGIN = 1.0


def with_standings(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return `ranks`, ordered best first and scored, with the standing of each.

    Patches that behave like the leading one are tied with it, whatever ordered them; a copy of
    the leading patch is the same patch and ties nothing. When no test passes on any patch, there
    is no evidence for one either. A patch that nothing could be compared with has no standing.
    """
    rated = [rank for rank in ranks if rank.score is not None]
    if not any(rank.passed for rank in rated):
        return tuple(replace(rank, standing=Standing.NO_EVIDENCE) for rank in ranks)
    leader = rated[0]
    return tuple(replace(rank, standing=_standing(rank, leader, rated)) for rank in ranks)


def without_trust(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return `ranks` for a ranking by tests that may not be about the bug: none leads surely."""
    return tuple(
        replace(rank, standing=Standing.UNSURE) if rank.standing is Standing.SEPARATED else rank
        for rank in ranks
    )


def without_separation(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return `ranks` for a ranking that lacks patches: who leads is not known yet."""
    return tuple(
        replace(rank, standing=None)
        if rank.standing in (Standing.SEPARATED, Standing.UNSURE)
        else rank
        for rank in ranks
    )


def _standing(rank: Rank, leader: Rank, rated: list[Rank]) -> Standing | None:
    if rank.score is None:
        return Standing.NO_EVIDENCE
    if _is_alone(leader, rated):
        return None
    if rank is not leader:
        return _compare(rank, leader)
    others = [_compare(other, leader) for other in rated[1:]]
    others = [
        standing
        for other, standing in zip(rated[1:], others, strict=True)
        if other.result.patch.name not in leader.copies
    ]
    for standing in (Standing.TIED, Standing.CLOSE):
        if standing in others:
            return standing
    return Standing.SEPARATED


def _is_alone(leader: Rank, rated: list[Rank]) -> bool:
    return all(rank is leader or rank.result.patch.name in leader.copies for rank in rated)


def _compare(rank: Rank, leader: Rank) -> Standing:
    if rank.group and rank.group == leader.group:
        return Standing.TIED
    return Standing.CLOSE if _odds(leader) - _odds(rank) < MARGIN else Standing.SEPARATED


def _odds(rank: Rank) -> float:
    assert rank.score is not None, "only rated patches are compared"
    return logit(min(max(rank.score, 1e-6), 1 - 1e-6))


def has_verdict(ranks: Sequence[Rank]) -> bool:
    """Say whether a ranking has more to tell than its figures: it is not by EPR alone."""
    return any(rank.standing or rank.score is not None for rank in ranks)


def verdict_of(ranks: Sequence[Rank], not_run: NotRun | None = None) -> str:
    """Return the ranking's verdict in one sentence.

    Args:
        ranks: best first, with their standings.
        not_run: the patches that it lacks, None for none: there is no verdict without them.
    """
    if not_run is not None:
        return "no verdict: not all patches were run"
    rated = [rank for rank in ranks if rank.score is not None]
    if not rated:
        return "no evidence: no candidate test could be run on a patch"
    leader = rated[0]
    if leader.standing is Standing.NO_EVIDENCE:
        return "no evidence: no candidate test passes on any patch"
    name = _called(leader)
    alike = f" ({', '.join(leader.copies)}: the same patch)" if leader.copies else ""
    if _is_alone(leader, rated):
        return f"{name} is the only patch that could be tried{alike}"
    if leader.standing is Standing.SEPARATED:
        return f"separated: {name} leads{alike}"
    if leader.standing is Standing.UNSURE:
        return f"possibly {name}{alike}: only tests that may not be about the bug tell it apart"
    if leader.standing is Standing.TIED:
        names = [
            _called(rank)
            for rank in rated
            if rank.group == leader.group and rank.result.patch.name not in leader.copies
        ]
        return f"tied: {_listed(names)} behave alike on everything we could run"
    close = next(rank for rank in rated if rank.standing is Standing.CLOSE and rank is not leader)
    return f"too close to call between {name} and {_called(close)}"


def _called(rank: Rank) -> str:
    """Return a patch's name, with a word of warning where its code gives reason for one."""
    odd = any(note.startswith(REMARK) for note in rank.result.notes)
    return f"{rank.result.patch.name} ({REMARK}: read it)" if odd else rank.result.patch.name


def _listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
