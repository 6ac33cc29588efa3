"""EPR, its edge cases, and competition ranks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.ranking import rank_by_epr
from pytest_brt.types import Cell, Patch, PatchResult, Refused, Verdict
from tests.support.outcomes import caused, refused


def row(name: str, *verdicts: Verdict, refused: Refused | None = None) -> PatchResult:
    patch = Patch(id=name, name=name, text="")
    cells = tuple(
        Cell(test=f"t{number}", verdict=verdict, cause=caused(verdict))
        for number, verdict in enumerate(verdicts)
    )
    return PatchResult(patch=patch, refused=refused, cells=cells)


def test_the_share_of_candidates_that_pass() -> None:
    (rank,) = rank_by_epr((row("a", Verdict.PASS, Verdict.FAIL, Verdict.PASS, Verdict.CRASH),))
    assert (rank.epr, rank.passed, rank.total, rank.rank) == (0.5, 2, 4, 1)


def test_only_a_pass_counts_as_passed() -> None:
    for verdict in set(Verdict) - {Verdict.PASS, Verdict.INVALID}:
        (rank,) = rank_by_epr((row("a", verdict),))
        assert rank.epr == 0.0


def test_invalid_cells_are_our_fault_and_do_not_count() -> None:
    (rank,) = rank_by_epr((row("a", Verdict.PASS, Verdict.INVALID),))
    assert (rank.epr, rank.passed, rank.total) == (1.0, 1, 1)
    (nothing,) = rank_by_epr((row("a", Verdict.INVALID),))
    assert (nothing.epr, nothing.rank, nothing.total) == (None, None, 0)


def test_ties_share_a_rank_and_name_each_other() -> None:
    ranks = rank_by_epr(
        (
            row("d", Verdict.FAIL),
            row("b", Verdict.PASS),
            row("a", Verdict.PASS),
            row("c", refused=refused()),
            row("e"),
        ),
    )
    assert [(rank.result.patch.name, rank.rank, rank.placed_with) for rank in ranks] == [
        ("a", 1, ("b",)),
        ("b", 1, ("a",)),
        ("d", 3, ()),
        ("e", None, ()),
        ("c", None, ()),
    ]


@given(st.lists(st.lists(st.sampled_from(Verdict), max_size=5), max_size=6))
def test_ranks_agree_with_epr(rows: list[list[Verdict]]) -> None:
    results = tuple(row(f"p{number}", *verdicts) for number, verdicts in enumerate(rows))
    ranks = rank_by_epr(results)
    assert sorted(rank.result.patch.name for rank in ranks) == sorted(
        result.patch.name for result in results
    )
    for rank in ranks:
        better = [other for other in ranks if (other.epr or 0) > (rank.epr or 0)]
        if rank.epr is not None:
            assert rank.rank == len(better) + 1
            assert 0 <= rank.epr <= 1
            equal = {other.result.patch.name for other in ranks if other.epr == rank.epr}
            assert set(rank.placed_with) == equal - {rank.result.patch.name}
