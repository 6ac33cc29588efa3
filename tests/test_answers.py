from __future__ import annotations

from dataclasses import replace

from pytest_brt.answers import selected
from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.types import Rank
from tests.support.rows import judged, row

TESTS = tuple(judged(number) for number in range(4))
RANKS = rank_by_epr(
    (row("a", "pppp"), row("b", "ppff"), row("c", "fpfp"), row("d", "ffff"), row("e")), TESTS
)


def top(ranks: tuple[Rank, ...], number: int) -> list[str]:
    return list(selected(ranks, number, None)[f"--brt-top {number}"])


def at_least(epr: float) -> list[str]:
    return list(selected(RANKS, None, epr)[f"--brt-threshold {epr:g}"])


def test_what_is_not_asked_for_is_not_selected() -> None:
    assert selected(RANKS, None, None) == {}


def test_patches_that_tie_at_the_end_are_all_taken() -> None:
    assert top(RANKS, 1) == ["a"]
    assert top(RANKS, 2) == ["a", "b", "c"]
    assert top(RANKS, 3) == ["a", "b", "c"]
    assert top(RANKS, 9) == ["a", "b", "c", "d"]  # of e nothing is known


def test_the_best_are_those_of_the_order_shown() -> None:
    first, second, *others = RANKS
    shown = (replace(second, place=1), replace(first, place=2), *others)
    assert top(shown, 1) == ["b"]


def test_a_threshold_is_one_of_epr() -> None:
    assert at_least(1.0) == ["a"]
    assert at_least(0.5) == ["a", "b", "c"]
    assert at_least(0.0) == ["a", "b", "c", "d"]
