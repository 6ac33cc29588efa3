from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_brt.reproduce.smaller import is_same_error, is_same_place
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
        (raising(frames=()), True),
        (replace(RUN, verdict=Verdict.BROKEN), False),
        (replace(RUN, raised=None), False),
    ],
)
def test_the_same_error(other: TestRun, same: bool) -> None:
    assert is_same_error(RUN, other) is same
    assert is_same_error(other, RUN) is same


def test_runs_without_an_exception_have_the_same_error() -> None:
    silent = replace(RUN, raised=None)
    assert is_same_error(silent, replace(silent, seconds=2.0))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (raising(frames=(CORE, TEST, replace(CORE, line=99))), True),
        (raising(frames=(TEST, replace(CORE, function="other"))), False),
        (raising(frames=(TEST,)), False),
        (replace(RUN, raised=None), False),
    ],
)
def test_the_same_place(other: TestRun, same: bool) -> None:
    assert is_same_place(RUN, other) is same
