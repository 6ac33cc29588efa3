"""Patches that are the same, and patches that behave the same."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.types import PatchResult, Verdict


def copies_of(results: Sequence[PatchResult]) -> tuple[tuple[str, ...], ...]:
    """Return, for each patch, the names of the others that are equal after normalisation."""
    return tuple(
        tuple(
            other.patch.name
            for other in results
            if other is not result and result.normal and other.normal == result.normal
        )
        for result in results
    )


def groups_of(results: Sequence[PatchResult]) -> tuple[int, ...]:
    """Number the groups of patches that behave alike on everything that was run.

    Alike means the same verdict on every test both have a valid cell for, the same existing
    tests newly failing, and the same outcome on every changed input; where there was no time for
    all of these, on those that both were tried on. A patch that does not apply, or on which
    nothing ran, is in no group: 0. Numbers start at 1, in order of appearance.
    """
    first: list[PatchResult] = []
    numbers = []
    for result in results:
        if not _behaviour(result):
            numbers.append(0)
            continue
        alike = (at for at, other in enumerate(first) if _are_alike(result, other))
        number = next(alike, len(first))
        if number == len(first):
            first.append(result)
        numbers.append(number + 1)
    return tuple(numbers)


def _are_alike(one: PatchResult, other: PatchResult) -> bool:
    ours, theirs = _answers(one), _answers(other)
    if one.vary_cut or other.vary_cut:
        shared = ours.keys() & theirs.keys()
        ours, theirs = ({key: found[key] for key in shared} for found in (ours, theirs))
    return (_behaviour(one), ours) == (_behaviour(other), theirs)


def _answers(result: PatchResult) -> dict[tuple[str, str], tuple[str, str]]:
    return {(one.test, one.change): (one.after, one.value) for one in result.varied}


def _behaviour(result: PatchResult) -> tuple[object, ...]:
    cells = tuple(
        sorted(
            (cell.test, cell.verdict is Verdict.PASS)
            for cell in result.cells
            if cell.verdict is not Verdict.INVALID
        )
    )
    if not result.applies or not cells:
        return ()
    broken = result.guarded.regressions if result.guarded else ()
    return (
        cells,
        tuple(sorted(regression.test for regression in broken)),
    )
