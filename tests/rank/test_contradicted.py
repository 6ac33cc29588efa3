"""A suite that asserts the bug: no patch leads, and the answer names the tests."""

from __future__ import annotations

from pytest_brt.answers import answer_ranking
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.types import Contradicted, Leader, Standing
from tests.support.rows import broken, judged, row

TESTS = (judged(0, 0.9), judged(1, 0.7))
#: What mends the bug breaks the test that asserts it; what does nothing breaks none.
RIGHT = row("a-right", "pp", guarded=broken(1))
OTHERS = (row("b-breaks", "pf", guarded=broken(2)), row("c-breaks", "pp", guarded=broken(3)))
NOTHING = row("d-nothing", "ff", guarded=broken(0))


def test_a_patch_that_does_nothing_is_not_first() -> None:
    ranks = rank_by_weight((RIGHT, *OTHERS, NOTHING), TESTS)
    assert [rank.place for rank in ranks] == [None] * 4
    assert {rank.standing for rank in ranks} == {Standing.CONTRADICTED}
    assert ranks[-1].name == "d-nothing"
    answer = answer_ranking(ranks)
    assert isinstance(answer, Contradicted)
    assert answer.bug_tests == ("test_a",)
    assert "tests/test_x.py::test_0" in answer.existing


def test_where_another_bug_test_decides_it_still_does() -> None:
    """A test that only harmful patches pass has no vote, and the other one has."""
    tests = (judged(0, 0.9), judged(1, 0.8))
    results = (row("a", "pf", guarded=broken(2)), row("b", "fp", guarded=broken(0)))
    answer = answer_ranking(rank_by_weight(results, tests))
    assert isinstance(answer, Leader)
    assert answer.patch == "b"


def test_where_no_patch_is_careful_the_tests_keep_their_votes() -> None:
    answer = answer_ranking(rank_by_weight((RIGHT, *OTHERS), TESTS))
    assert not isinstance(answer, Contradicted)
