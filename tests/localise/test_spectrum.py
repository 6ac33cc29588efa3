from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.localise.spectrum import SuspectLine, lines_of, rank_lines
from pytest_brt.types import TestRun, Verdict
from tests.support.outcomes import caused


def line(failing: int, passing: int, all_failing: int = 2, all_passing: int = 4) -> SuspectLine:
    return SuspectLine(
        path="a.py",
        line=1,
        failing=failing,
        passing=passing,
        all_failing=all_failing,
        all_passing=all_passing,
    )


def test_values_worked_out_by_hand() -> None:
    assert line(1, 3).ochiai == pytest.approx(1 / math.sqrt(2 * 4))


def test_nothing_known() -> None:
    assert line(0, 0, 0, 0).ochiai == 0.0
    assert line(0, 3).ochiai == 0.0


def test_rank_lines() -> None:
    failing = [{"a.py": frozenset({1, 2, 3})}, {"a.py": frozenset({1, 3}), "b.py": frozenset({9})}]
    passing = [{"a.py": frozenset({1, 2})}, {"a.py": frozenset({1}), "c.py": frozenset({7})}]
    ranked = rank_lines(failing, passing)
    assert [(s.path, s.line) for s in ranked] == [
        ("a.py", 3),
        ("a.py", 1),
        ("b.py", 9),
        ("a.py", 2),
    ]
    assert ranked[0].ochiai == 1.0
    assert (ranked[1].failing, ranked[1].passing) == (2, 2)
    assert rank_lines([], passing) == ()


@given(data=st.data())
def test_more_failing_never_less_suspicious(data: st.DataObject) -> None:
    all_failing, all_passing = data.draw(st.integers(1, 9)), data.draw(st.integers(0, 9))
    failing = data.draw(st.integers(0, all_failing - 1))
    passing = data.draw(st.integers(0, all_passing))
    less = line(failing, passing, all_failing, all_passing).ochiai
    more = line(failing + 1, passing, all_failing, all_passing).ochiai
    assert more >= less >= 0
    if passing:
        fewer = line(failing + 1, passing - 1, all_failing, all_passing)
        assert fewer.ochiai >= more


def test_lines_of_a_long_file_are_found_soon() -> None:
    run = TestRun(
        test="t",
        node="",
        verdict=Verdict.PASS,
        cause=caused(Verdict.PASS),
        ran=(("a.py", "f" * 250_000),),
    )
    begin = time.process_time()
    assert len(lines_of(run)["a.py"]) == 1_000_000
    assert time.process_time() - begin < 5
