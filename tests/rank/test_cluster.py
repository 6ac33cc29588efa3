"""Clusters: one vote for one way of failing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.rank.cluster import clusters_of
from pytest_brt.types import Frame, OracleKind, Raised
from tests.rank.rows import judged


def test_the_same_failure_is_one_cluster_whose_vote_is_split() -> None:
    tests = (judged(0, 0.6, message="same"), judged(1, 0.3, message="same"), judged(2, 0.5))
    first, second = clusters_of(tests)
    assert (first.tests, second.tests) == (("t0", "t1"), ("t2",))
    assert sum(first.shares) == pytest.approx(1)
    assert first.shares[0] == pytest.approx(2 / 3)
    assert first.reliability == pytest.approx(0.6)


def test_agreement_counts_independent_attempts_only() -> None:
    alone = clusters_of((judged(0, 0.3, message="same"), judged(1, 0.3, message="same")))
    several = clusters_of(
        tuple(judged(number, 0.3, message="same", seed=number) for number in range(4))
    )
    assert alone[0].reliability == pytest.approx(0.3)
    assert several[0].reliability > 0.6


def test_an_exception_is_known_by_the_place_in_the_project_that_raises_it() -> None:
    def raising(number: int, function: str) -> object:
        test = judged(number)
        frames = (
            Frame(path="test_a.py", line=number, function="test_a"),
            Frame(path="pkg/core.py", line=number, function=function, project=True),
            Frame(path="/lib/json.py", line=3, function="loads"),
        )
        raised = Raised(type="ValueError", message="at 0x7f00ab", frames=frames)
        run = replace(test.judgement.runs[0], raised=raised)
        return replace(test, judgement=replace(test.judgement, runs=(run,)))

    tests = (raising(1, "walk"), raising(2, "walk"), raising(3, "run"))
    assert [cluster.tests for cluster in clusters_of(tests)] == [("t1", "t2"), ("t3",)]  # type: ignore[arg-type]


def test_tests_that_are_no_candidates_have_no_vote() -> None:
    passing = judged(0)
    passing = replace(passing, judgement=replace(passing.judgement, candidate=False))
    assert clusters_of((passing,)) == ()


def test_a_test_that_only_wants_something_else_is_lenient() -> None:
    (gone,) = clusters_of((judged(0, kind=OracleKind.GONE),))
    (value,) = clusters_of((judged(0, kind=OracleKind.EQUALS),))
    assert gone.leniency > 3 * value.leniency


def test_blanks_and_addresses_make_no_other_failure() -> None:
    tests = (judged(0, message=" at 0x7f00ab\n"), judged(1, message="at 0x55ffCD"))
    assert [cluster.tests for cluster in clusters_of(tests)] == [("t0", "t1")]


def test_a_failure_that_says_nothing_is_alone() -> None:
    tests = (judged(0, message=""), judged(1, message=" \n"))
    assert [cluster.tests for cluster in clusters_of(tests)] == [("t0",), ("t1",)]
    unknown = tuple(
        replace(test, judgement=replace(test.judgement, runs=())) for test in (judged(2), judged(3))
    )
    assert [cluster.tests for cluster in clusters_of(unknown)] == [("t2",), ("t3",)]
