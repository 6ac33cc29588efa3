"""LIBRO's order: matching clusters first, larger ones first, one test of each in turn."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.reproduce.libro.pool import PooledTest, agreement, cluster, round_robin
from tests.reproduce.model_tests.judging import CRASH, PRODUCT, WRONG, candidate, run


def failing(
    name: str, message: str, samples: set[int], *, raised: str = "AssertionError", extra: str = ""
) -> PooledTest:
    source = f"def {name}():\n    {extra}assert f(1) == 'ab'\n"
    return PooledTest(
        replace(candidate(source), id=name, name=name),
        problems=(),
        samples=samples,
        runs=(run(raised, message, frames=(PRODUCT,)),),
    )


QUOTED = "assert 'a-b' == 'ab'"
OTHER = "assert 3 == 4"


def names(found: tuple[PooledTest, ...]) -> list[str]:
    return [item.test.name for item in found]


def test_the_reported_failure_comes_before_a_larger_cluster() -> None:
    tests = [
        failing("test_a", OTHER, {0, 1, 2, 3}),
        failing("test_b", QUOTED, {4}),
        failing("test_c", "assert 1 == 2", {5, 6}),
    ]
    found = cluster(tests, WRONG)
    assert [(c.tests[0].test.name, c.size, c.match) for c in found] == [
        ("test_b", 1, True),
        ("test_a", 4, False),
        ("test_c", 2, False),
    ]
    assert agreement(found) == 4


def test_one_sample_with_two_alike_tests_does_not_agree_with_itself() -> None:
    (found,) = cluster([failing("test_a", QUOTED, {0}), failing("test_b", QUOTED, {0})], WRONG)
    assert found.size == 1


def test_shorter_tests_come_first_and_clusters_take_turns() -> None:
    tests = [
        failing("test_long", QUOTED, {0}, extra="x = [1, 2, 3]; "),
        failing("test_short", QUOTED, {1}),
        failing("test_other", OTHER, {2}),
    ]
    assert names(round_robin(cluster(tests, WRONG))) == ["test_short", "test_other", "test_long"]


def test_within_a_cluster_a_test_that_waits_for_the_named_exception_comes_first() -> None:
    waits = failing("test_waits", "'a'", {0}, raised="KeyError", extra="pytest.raises(KeyError); ")
    plain = failing("test_plain", "'a'", {1}, raised="KeyError")
    (found,) = cluster([plain, waits], CRASH)
    assert names(found.tests) == ["test_waits", "test_plain"]
    assert found.match


def test_nothing_fails() -> None:
    assert cluster([], WRONG) == ()
    assert round_robin(()) == ()
    assert agreement(()) == 0
