"""Runs take turns, however alike they are."""

from __future__ import annotations

from contextlib import ExitStack

from pytest_brt.sandbox.turns import Turns


def test_runs_of_one_name_leave_in_any_order() -> None:
    turns = Turns(jobs=3)
    with ExitStack() as last_first:
        first = turns.beside("a")
        second = turns.beside("a")
        first.__enter__()
        second.__enter__()
        second.__exit__(None, None, None)
        met = last_first.enter_context(turns.beside("b"))
        first.__exit__(None, None, None)
        assert met == {"a"}
    with turns.alone():
        pass
