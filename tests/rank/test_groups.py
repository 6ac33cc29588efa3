"""Patches that are the same, and patches that behave the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.rank.groups import copies_of, groups_of
from pytest_brt.types import PatchResult
from tests.rank.rows import broken, row, varied


def test_copies_are_equal_after_normalisation() -> None:
    once = "normal form"
    again = "".join(["normal ", "form"])  # equal, and another object
    results = (row("a", normal=once), row("b", normal="x"), row("c", normal=again), row("d"))
    assert copies_of(results) == (("c",), (), ("a",), ())
    assert copies_of((row("a"), row("b"))) == ((), ()), "nothing is known of either"


def test_groups_are_numbered_in_order_of_appearance() -> None:
    results = (row("a", "pf"), row("b", "fp"), row("c"), row("d", "pf"), row("e", "pp"))
    assert groups_of(results) == (1, 2, 0, 1, 3)


def test_what_did_not_run_is_in_no_group_and_no_part_of_behaviour() -> None:
    assert groups_of((row("a"), row("b", "??"), row("c", "pp", applies=False))) == (0, 0, 0)
    assert groups_of((row("a", "p?"), row("b", "p"))) == (1, 1)


def test_only_passing_or_not_counts() -> None:
    assert groups_of((row("a", "pf"), row("b", "pc"))) == (1, 1)


@pytest.mark.parametrize(
    "other",
    [
        row("b", "pp", guarded=broken(0)),
        row("b", "pf", guarded=broken(1)),
        row("b", "pp", guarded=broken(2)),
        row("b", "pp", guarded=broken(1), varied=varied("0", "5")),
    ],
)
def test_a_regression_or_an_answer_more_is_another_behaviour(other: PatchResult) -> None:
    own = row("a", "pp", guarded=broken(1))
    assert groups_of((own, own, other)) == (1, 1, 2)


def test_answers_to_changed_inputs_are_compared() -> None:
    rows = [row(name, "p", varied=varied("0", name[0])) for name in ("5", "5 too", "7")]
    assert groups_of(rows) == (1, 1, 2)


def test_a_patch_that_had_time_for_fewer_changed_inputs_is_compared_on_those() -> None:
    some, other = varied("0", "5", count=6), varied("0", "6", count=6)
    rows = (
        row("all", "p", varied=some),
        row("fewer", "p", varied=some[:2], vary_cut="2 of 6"),
        row("others", "p", varied=(*some[:2], *other[2:])),
        row("fewer others", "p", varied=other[:1], vary_cut="1 of 6"),
    )
    assert groups_of(rows) == (1, 1, 2, 3)


def test_values_that_nobody_asked_for_are_compared_too() -> None:
    varied_to = {value: varied("0", "passes", count=2) for value in ("5", "6")}
    rows = [
        row(name, "p", varied=tuple(replace(one, value=name[0]) for one in varied_to[name[0]]))
        for name in ("5", "5 too", "6")
    ]
    assert groups_of(rows) == (1, 1, 2)
