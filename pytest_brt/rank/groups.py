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


def agreement_of(results: Sequence[PatchResult]) -> tuple[float, ...]:
    """Return, for each patch, the share of the others that change a definition which it changes.

    Copies count once: several people who write the same are one more voice, not ten.
    """
    return tuple(_agreement(result, results) for result in results)


def _agreement(result: PatchResult, results: Sequence[PatchResult]) -> float:
    others: dict[str, set[str]] = {}
    for other in results:
        is_copy = other is result or (result.normal and other.normal == result.normal)
        if other.applies and other.places and not is_copy:
            others.setdefault(other.normal or other.patch.name, set(other.places))
    own = set(result.places)
    return sum(bool(own & places) for places in others.values()) / len(others) if others else 0.0


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
        bool(result.special),
    )
