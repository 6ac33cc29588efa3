"""Patches that are the same, and patches that behave the same."""

from __future__ import annotations

import pytest

from pytest_brt.rank.alike import copies_of, groups_of
from pytest_brt.types import PatchResult
from tests.support.outcomes import refused
from tests.support.rows import broken, row


def test_copies_are_equal_after_normalisation() -> None:
    once = "normal form"
    again = "".join(["normal ", "form"])  # equal, and another object
    results = (row("a", normal=once), row("b", normal="x"), row("c", normal=again), row("d"))
    assert copies_of(results) == (("c",), (), ("a",), ())
    assert copies_of((row("a"), row("b"))) == ((), ()), "nothing is known of either"


def test_groups_are_numbered_in_order_of_appearance() -> None:
    results = (row("a", "pf"), row("b", "fp"), row("c"), row("d", "pf"), row("e", "pp"))
    assert groups_of(results) == (1, 2, 3, 1, 4)


def test_what_did_not_run_shares_no_group_and_is_no_part_of_behaviour() -> None:
    assert groups_of((row("a"), row("b", "??"), row("c", "pp", refused=refused()))) == (1, 2, 0)
    assert groups_of((row("a", "p?"), row("b", "p"))) == (1, 1)


def test_only_passing_or_not_counts() -> None:
    assert groups_of((row("a", "pf"), row("b", "pc"))) == (1, 1)


@pytest.mark.parametrize(
    "other",
    [
        row("b", "pp", guarded=broken(0)),
        row("b", "pf", guarded=broken(1)),
        row("b", "pp", guarded=broken(2)),
    ],
)
def test_a_verdict_or_a_regression_more_is_another_behaviour(other: PatchResult) -> None:
    own = row("a", "pp", guarded=broken(1))
    assert groups_of((own, own, other)) == (1, 1, 2)
