"""Why no more tests ran, and that a test did not reach a patch, in words."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_brt.render.causes import run_words, shortfall_words
from pytest_brt.types import Shortfall, TestRun, Verdict
from pytest_brt.types.shortfall import BudgetSpent, FailBefore, NotCollected
from tests.support.outcomes import caused


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.PASS, "passed; patch not exercised"),
        (Verdict.FAIL, "assert 1 == 2; patch not exercised"),
        (Verdict.SKIP, "skipped"),
    ],
)
def test_of_a_test_that_ran_it_is_said_that_the_patch_was_not_reached(
    verdict: Verdict, words: str
) -> None:
    run = TestRun(test="t", node="n", verdict=verdict, cause=caused(verdict), exercised=False)
    assert run_words(run) == words


SHORT: list[tuple[Shortfall, str]] = [
    (BudgetSpent(seconds=2.5), "the budget of 2.5 s a patch allows no more"),
    (NotCollected(path="a.py", others=0), "a.py cannot be collected on the unpatched tree"),
    (
        NotCollected(path="a.py", others=2),
        "a.py and 2 more cannot be collected on the unpatched tree",
    ),
    (FailBefore(tests=1, all_of_them=False), "1 does not pass on the unpatched tree"),
    (FailBefore(tests=2, all_of_them=False), "2 do not pass on the unpatched tree"),
    (
        FailBefore(tests=1, all_of_them=True),
        "the one test near it failed on the unpatched tree already",
    ),
    (
        FailBefore(tests=3, all_of_them=True),
        "the 3 tests near it failed on the unpatched tree already",
    ),
]


@pytest.mark.parametrize(("shortfall", "words"), SHORT)
def test_why_no_more_tests_ran_is_told(shortfall: Shortfall, words: str) -> None:
    assert shortfall_words(shortfall) == words


def test_every_shortfall_is_told() -> None:
    assert {type(shortfall) for shortfall, _ in SHORT} == set(get_args(Shortfall))
