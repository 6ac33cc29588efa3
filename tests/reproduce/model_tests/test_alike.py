from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_brt.reproduce.model_tests.small import is_alike
from pytest_brt.types import Frame, Raised, TestRun, Verdict

TEST = Frame(path="tests/test_x.py", line=3, function="test_a")
CORE = Frame(path="pkg/core.py", line=7, function="walk", project=True)
RAISED = Raised(type="KeyError", message="<Thing at 0x7f01>", frames=(TEST, CORE))
RUN = TestRun(
    test="t", node="n", verdict=Verdict.FAIL, reason="", seconds=1.0, output="", raised=RAISED
)


def raising(**changes: Any) -> TestRun:
    return replace(RUN, raised=replace(RAISED, **changes))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (raising(message="<Thing at 0x8e22>"), True),
        (raising(message="<Thing at 0x8e22> and more"), False),
        (raising(type="LookupError"), False),
        (raising(frames=()), False),
        (raising(frames=(TEST,)), False),
        (raising(frames=(TEST, replace(CORE, function="other"))), False),
        (raising(frames=(CORE, TEST, replace(CORE, line=99))), True),
        (replace(RUN, verdict=Verdict.BROKEN), False),
        (replace(RUN, raised=None), False),
    ],
)
def test_the_same_error_at_the_same_place_is_alike(other: TestRun, same: bool) -> None:
    assert is_alike(RUN, other) is same
    assert is_alike(other, RUN) is same


def test_a_claim_fails_wherever_the_project_was_left() -> None:
    claim = raising(type="AssertionError")
    assert is_alike(claim, raising(type="AssertionError", frames=(TEST,)))


def test_runs_without_an_exception_are_alike() -> None:
    silent = replace(RUN, raised=None)
    assert is_alike(silent, replace(silent, seconds=2.0))
