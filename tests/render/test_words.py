"""That a test did not reach a patch, in words."""

from __future__ import annotations

import pytest

from pytest_brt.render.words import run_words
from pytest_brt.types import TestRun, Verdict
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
