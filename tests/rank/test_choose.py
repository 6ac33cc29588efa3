from __future__ import annotations

from dataclasses import replace

from pytest_brt.rank.choose import at_least, top_k
from pytest_brt.rank.epr import rank_by_epr
from tests.rank.rows import judged, row

TESTS = tuple(judged(number) for number in range(4))
RANKS = rank_by_epr(
    (row("a", "pppp"), row("b", "ppff"), row("c", "fpfp"), row("d", "ffff"), row("e")), TESTS
)


def names(chosen: tuple[object, ...]) -> list[str]:
    return [rank.result.patch.name for rank in chosen]  # type: ignore[attr-defined]


def test_patches_that_tie_at_the_end_are_all_taken() -> None:
    assert names(top_k(RANKS, 1)) == ["a"]
    assert names(top_k(RANKS, 2)) == ["a", "b", "c"]
    assert names(top_k(RANKS, 3)) == ["a", "b", "c"]
    assert names(top_k(RANKS, 9)) == ["a", "b", "c", "d"]  # of e nothing is known


def test_the_best_are_those_of_the_order_shown() -> None:
    first, second, *others = RANKS
    shown = (replace(second, place=1), replace(first, place=2), *others)
    assert names(top_k(shown, 1)) == ["b"]


def test_a_threshold_is_one_of_epr() -> None:
    assert names(at_least(RANKS, 1.0)) == ["a"]
    assert names(at_least(RANKS, 0.5)) == ["a", "b", "c"]
    assert names(at_least(RANKS, 0.0)) == ["a", "b", "c", "d"]
