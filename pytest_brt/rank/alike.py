"""Which patches are alike: they make the same program, or pass the same tests."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.types import PatchResult, Verdict


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


def groups_of(results: Sequence[PatchResult]) -> tuple[int, ...]:
    """Number the groups of patches that pass the same tests.

    That is the same verdict on every test with a valid cell, the same existing tests newly
    failing, and code that singles out the reported input in both or in neither. A patch on which no
    candidate ran is in a group of its own, and one that does not apply in none: 0. Numbers start at
    1, in order of appearance.
    """
    numbers: dict[tuple[object, ...], int] = {(): 0}
    return tuple(numbers.setdefault(_behaviour(result), len(numbers)) for result in results)


def _behaviour(result: PatchResult) -> tuple[object, ...]:
    valid = [c for c in (*result.cells, *result.own_cells) if c.verdict is not Verdict.INVALID]
    passing = tuple(sorted((cell.test, cell.verdict is Verdict.PASS) for cell in valid))
    if not result.applies:
        return ()
    if not passing:
        return (result.patch.name,)
    broken = tuple(sorted(regression.test for regression in result.regressions))
    return (passing, broken, bool(result.special))
