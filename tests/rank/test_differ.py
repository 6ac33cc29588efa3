"""One input, and one question, that tells leading patches apart."""

from __future__ import annotations

from pytest_brt.rank.differ import difference_of
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.types import Difference, PatchResult
from tests.rank.rows import judged, row, varied


def asked(*rows: PatchResult) -> Difference | None:
    return difference_of(rank_by_weight(rows, (judged(0), judged(1))))


def test_nothing_is_asked_without_two_leading_patches() -> None:
    five, six = varied("0", "5"), varied("0", "6")
    assert difference_of(()) is None
    assert asked(row("a", applies=False), row("b")) is None
    assert asked(row("a", "pp", varied=five)) is None
    assert asked(row("a", "pp", varied=five), row("b", "pf", varied=six), row("c", "ff")) is None


def test_answers_are_gathered_by_what_they_say_the_first_patch_s_first() -> None:
    rows = (
        row("a", "pp", varied=varied("0", "5")),
        row("b", "pp", varied=varied("0", "6")),
        row("c", "pp", varied=varied("0", "5")),
    )
    found = asked(*rows)
    assert found is not None
    assert (found.test, found.change, found.before) == ("t0", "0 → 1", "0")
    assert found.answers == (("5", ("a", "c")), ("6", ("b",)))


def test_inputs_on_which_all_agree_are_passed_over() -> None:
    same, other = varied("0", "5", count=3), varied("0", "6", count=3)
    found = asked(row("a", "pp", varied=same), row("b", "pp", varied=(*same[:2], other[2])))
    assert found is not None
    assert found.change == "0 → 3"
    assert asked(row("a", "pp", varied=same), row("b", "pp", varied=same)) is None
