from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.localise.places import SuspectLine, rank_lines


def line(failing: int, passing: int, all_failing: int = 2, all_passing: int = 4) -> SuspectLine:
    return SuspectLine(
        path="a.py",
        line=1,
        failing=failing,
        passing=passing,
        all_failing=all_failing,
        all_passing=all_passing,
    )


FORMULAS = ("ochiai", "dstar", "tarantula")


def test_values_worked_out_by_hand() -> None:
    assert line(1, 3).ochiai == pytest.approx(1 / math.sqrt(2 * 4))
    assert line(1, 3).tarantula == pytest.approx(0.5 / (0.5 + 0.75))
    assert line(1, 3).dstar == 1 / 4
    assert line(2, 0).dstar == math.inf


def test_nothing_known() -> None:
    for formula in FORMULAS:
        assert getattr(line(0, 0, 0, 0), formula) == 0.0
        assert getattr(line(0, 3), formula) == 0.0


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


@pytest.mark.parametrize("formula", FORMULAS)
@given(data=st.data())
def test_more_failing_never_less_suspicious(formula: str, data: st.DataObject) -> None:
    all_failing, all_passing = data.draw(st.integers(1, 9)), data.draw(st.integers(0, 9))
    failing = data.draw(st.integers(0, all_failing - 1))
    passing = data.draw(st.integers(0, all_passing))
    less = getattr(line(failing, passing, all_failing, all_passing), formula)
    more = getattr(line(failing + 1, passing, all_failing, all_passing), formula)
    assert more >= less >= 0
    if passing:
        fewer = line(failing + 1, passing - 1, all_failing, all_passing)
        assert getattr(fewer, formula) >= more
