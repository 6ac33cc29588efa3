"""EPR, its edge cases, and the places that patches share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.ranking import rank
from pytest_brt.types import Patch, PatchResult, Rank, TestRun, Verdict
from tests.support.outcomes import caused
from tests.support.rows import judged


def row(name: str, *verdicts: Verdict) -> PatchResult:
    patch = Patch(id=name, name=name, text="")
    cells = tuple(
        TestRun(test=f"t{number}", node="", verdict=verdict, cause=caused(verdict))
        for number, verdict in enumerate(verdicts)
    )
    return PatchResult(patch=patch, cells=cells, normal=name)


def ranks_of(*results: PatchResult) -> tuple[Rank, ...]:
    return rank(results, [judged(number) for number in range(5)])


def test_the_share_of_candidates_that_pass() -> None:
    (only,) = ranks_of(row("a", Verdict.PASS, Verdict.FAIL, Verdict.PASS, Verdict.CRASH))
    assert (only.epr, only.passed, only.total, only.place) == (0.5, 2, 4, (1, 1))


def test_only_a_pass_counts_as_passed() -> None:
    for verdict in set(Verdict) - {Verdict.PASS, Verdict.INVALID}:
        (only,) = ranks_of(row("a", verdict))
        assert only.epr == 0.0


def test_invalid_cells_are_our_fault_and_do_not_count() -> None:
    (only,) = ranks_of(row("a", Verdict.PASS, Verdict.INVALID))
    assert (only.epr, only.passed, only.total) == (1.0, 1, 1)
    (nothing,) = ranks_of(row("a", Verdict.INVALID))
    assert (nothing.epr, nothing.place, nothing.total) == (None, None, 0)


@given(st.lists(st.lists(st.sampled_from(Verdict), max_size=5), max_size=6))
def test_places_are_those_of_a_competition(rows: list[list[Verdict]]) -> None:
    """Ties share first and last place, and the next one stands behind all of them."""
    placed = [
        one.place
        for one in ranks_of(*(row(f"p{at}", *verdicts) for at, verdicts in enumerate(rows)))
        if one.place
    ]
    for number, (first, last) in enumerate(placed, 1):
        assert first <= number <= last
        assert placed.count((first, last)) == last - first + 1
