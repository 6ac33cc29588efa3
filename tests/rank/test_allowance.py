"""How long what is run beside the candidates may take."""

from __future__ import annotations

import pytest

from pytest_brt.rank.allowance import Allowance


@pytest.mark.parametrize(
    ("seconds", "spent", "row", "share"),
    [
        (None, 100.0, 20.0, (100.0 + 3 * 20.0) / 4),
        (None, 1.0, 1.0, 5.0),
        (80.0, 1000.0, 1000.0, 20.0),
        (4.0, 1000.0, 1000.0, 5.0),
    ],
)
def test_a_tree_has_its_share_and_never_less_than_says_something(
    seconds: float | None, spent: float, row: float, share: float
) -> None:
    assert Allowance(seconds=seconds, patches=3, spent=spent).share(row) == share


def test_all_patches_have_what_the_first_to_ask_got() -> None:
    allowance = Allowance(patches=1, spent=30.0)
    assert [allowance.share(10.0), allowance.share(500.0)] == [20.0, 20.0]
