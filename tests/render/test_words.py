"""That a test did not reach a patch, and where values differ, in words."""

from __future__ import annotations

import pytest

from pytest_brt.render.words import call_words, run_words
from pytest_brt.types import Given, TestRun, Verdict
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


def test_of_long_values_the_place_is_shown_where_they_differ() -> None:
    gives = [Given(patches=(end,), text="=" * 200 + end, raised="") for end in "ab"]
    shared = "…" + "=" * 20
    words = f"`f(1)` gives `{shared}a` (a), gives `{shared}b` (b)"
    assert call_words((), "f(1)", gives) == words
