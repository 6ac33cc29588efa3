"""Tests that may not be about the bug decide no leader alone."""

from __future__ import annotations

from pytest_brt.rank.standing import verdict_of
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.types import REPRODUCES, Standing
from tests.rank.rows import judged, row

RESULTS = (row("a.diff", "pp"), row("b.diff", "ff"), row("c.diff", "ff"))


def test_possible_tests_alone_make_no_leader() -> None:
    below = REPRODUCES - 0.01
    ranks = rank_by_weight(RESULTS, (judged(0, below), judged(1, below)))
    assert {rank.standing for rank in ranks} == {Standing.UNSURE}
    assert verdict_of(ranks).startswith("possibly a.diff: only tests that may not be about the bug")


def test_one_that_reproduces_the_report_is_enough() -> None:
    ranks = rank_by_weight(RESULTS, (judged(0, REPRODUCES), judged(1, 0.3)))
    assert ranks[0].standing is Standing.SEPARATED
    assert verdict_of(ranks) == "separated: a.diff leads"
