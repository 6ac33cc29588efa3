"""The patches of a report, ranked with what variations show, and a call on which leaders differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.rank.ranking import rank
from pytest_brt.rank.variations import find_difference, find_remarks
from pytest_brt.types import JudgedTest, PatchResult, Rank, Telling, Variation, tied


def rank_patches(
    results: Sequence[PatchResult],
    tests: tuple[JudgedTest, ...],
    calls: Sequence[Variation],
    *,
    is_whole: bool,
) -> tuple[Rank, ...]:
    """Return the ranks of patches; where some were not run, none of them leads.

    `calls` are those of the bug tests, varied.
    """
    notes = find_remarks(comparable(rank(results, tests)), calls)
    noted = [
        replace(one, remarks=(*one.remarks, notes[name]))
        if (name := one.patch.name) in notes
        else one
        for one in results
    ]
    ranks = rank(noted, tests)
    return ranks if is_whole else tuple(replace(r, standing=None, doubt=None) for r in ranks)


def tellings_of(ranks: Sequence[Rank], calls: Sequence[Variation]) -> tuple[Telling, ...]:
    """Return the smallest call on which leading patches differ, nothing where there is none."""
    doubt = ranks[0].doubt if ranks else None
    # One that does as the unpatched code is held against all that come near it.
    is_held = doubt is not None and doubt.code == "as-unpatched"
    leaders = comparable(ranks) if is_held else tied(ranks)
    tried = [one for one in leaders if one.result.outcomes]
    telling = find_difference(tried, calls) if len(tried) > 1 else None
    return (telling,) if telling else ()


def comparable(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return the patches that pass a bug test, and fail no more of them than the first one."""
    passing = [one for one in ranks if one.passed and one.result.outcomes]
    most = ranks[0].total - ranks[0].passed if ranks else 0
    return tuple(one for one in passing if one.total - one.passed <= most)
