"""Patches that treat the reported input as a special case: decided by what is next to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_brt.types import Exposure, PatchResult, Varied

#: Inputs near the report that must show the bug, before a patch alone is held to special-case.
ENOUGH = 4
#: New names of one thing with which the bug must be there again.
NAMES = 2
#: Different other patches that must agree on what has to change.
WITNESSES = 2


def exposures_of(results: Sequence[PatchResult]) -> tuple[Exposure | None, ...]:
    """Return, per patch, the proof that it only special-cases the reported input, if there is one.

    A special case is one of a single literal: only changes of the same one are looked at together.
    A test that decides by itself exposes a patch on which every changed input that shows the bug
    still shows it, in the same words, unless it does so on all patches: then these inputs are
    likely to be wrong themselves. A test that only tells values cannot know which of them are
    wrong: it exposes a patch that leaves every value as it was which other patches that pass the
    candidate, at least two different ones and most of them, agree to change. A patch that fails as
    before with other names for what only the test names is exposed when another patch shows that
    they do not matter.
    """
    return tuple(_exposure(result, results) for result in results)


def _exposure(result: PatchResult, results: Sequence[PatchResult]) -> Exposure | None:
    lifted = dict.fromkeys((varied.test, varied.literal) for varied in result.varied)
    others = _others(result, results)
    for place in lifted:
        own = _at(result, place)
        theirs = [_at(other, place) for other in others]
        found = _by_name(own, theirs) or _alone(own, theirs) or _among(own, others)
        if found is not None:
            return found
    return None


def _at(result: PatchResult, place: tuple[str, str]) -> list[Varied]:
    return [varied for varied in result.varied if (varied.test, varied.literal) == place]


def _by_name(own: Sequence[Varied], others: Sequence[Sequence[Varied]]) -> Exposure | None:
    if len(own) < NAMES or not all(varied.renamed for varied in own):
        return None
    mended = any(len(o) >= NAMES and all(v.after == "passes" for v in o) for o in others)
    if not mended or any(varied.before != varied.after for varied in own):
        return None
    return Exposure(varied=own[0], others="", tried=len(own), failed=len(own))


def _alone(own: Sequence[Varied], others: Sequence[Sequence[Varied]]) -> Exposure | None:
    deciding = [varied for varied in own if varied.decides]
    if not _all_fail(deciding):
        return None
    theirs = [varied for varied in others if varied]
    if len(theirs) >= WITNESSES and all(map(_all_fail, theirs)):
        return None  # no patch changes it, so these inputs may well be wrong themselves
    return Exposure(varied=deciding[0], others="", tried=len(deciding), failed=len(deciding))


def _all_fail(deciding: Sequence[Varied]) -> bool:
    return len(deciding) >= ENOUGH and all(varied.before == varied.after for varied in deciding)


def _among(own: Sequence[Varied], others: Sequence[PatchResult]) -> Exposure | None:
    agreed = []
    for varied in own:
        seen = [
            other.after
            for result in others
            for other in result.varied
            if (other.test, other.change) == (varied.test, varied.change)
        ]
        common = Counter(after for after in seen if after != varied.before).most_common(1)
        if common and common[0][1] >= WITNESSES and common[0][1] > len(seen) / 2:
            agreed.append((varied, *common[0]))
    if len(agreed) < WITNESSES or any(v.before != v.after for v, _, _ in agreed):
        return None
    varied, after, count = agreed[0]
    words = f"{count} other patches: {after}"
    return Exposure(varied=varied, others=words, tried=len(agreed), failed=len(agreed))


def _others(result: PatchResult, results: Sequence[PatchResult]) -> list[PatchResult]:
    """Return the other patches, those that are equal after normalisation once."""
    seen = {result.normal} if result.normal else set()
    others = []
    for other in results:
        if other is result or (other.normal and other.normal in seen):
            continue
        seen.add(other.normal)
        others.append(other)
    return others
