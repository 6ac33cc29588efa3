from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.localise.spectrum import Counts, dstar, ochiai, rank_lines, tarantula


def counts(failing: int, passing: int, all_failing: int = 2, all_passing: int = 4) -> Counts:
    return Counts(
        failing=failing, passing=passing, all_failing=all_failing, all_passing=all_passing
    )


def test_values_worked_out_by_hand() -> None:
    assert ochiai(counts(1, 3)) == pytest.approx(1 / math.sqrt(2 * 4))
    assert tarantula(counts(1, 3)) == pytest.approx(0.5 / (0.5 + 0.75))
    assert dstar(counts(1, 3)) == 1 / 4
    assert dstar(counts(2, 0)) == math.inf


def test_nothing_known() -> None:
    for formula in (ochiai, dstar, tarantula):
        assert formula(counts(0, 0, 0, 0)) == 0.0
        assert formula(counts(0, 3)) == 0.0


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
    assert ranked[0].score == 1.0
    assert (ranked[1].counts.failing, ranked[1].counts.passing) == (2, 2)
    assert rank_lines([], passing) == ()


@pytest.mark.parametrize("formula", [ochiai, dstar, tarantula])
@given(data=st.data())
def test_more_failing_never_less_suspicious(
    formula: Callable[[Counts], float], data: st.DataObject
) -> None:
    all_failing, all_passing = data.draw(st.integers(1, 9)), data.draw(st.integers(0, 9))
    failing = data.draw(st.integers(0, all_failing - 1))
    passing = data.draw(st.integers(0, all_passing))
    less = formula(counts(failing, passing, all_failing, all_passing))
    more = formula(counts(failing + 1, passing, all_failing, all_passing))
    assert more >= less >= 0
    if passing:
        assert formula(counts(failing + 1, passing - 1, all_failing, all_passing)) >= more
