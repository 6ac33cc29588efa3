"""Rows take turns: some beside each other, one alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from pytest_brt.execute.turns import Turns

#: Seconds that a thread may take to come as far as it can.
WHILE = 0.2


def test_who_runs_beside_others_knows_them() -> None:
    turns = Turns(2)
    with turns.beside("a") as first, turns.beside("b") as second:
        pass
    assert first.beside == {"b"}
    assert second.beside == {"a"}
    with turns.beside("c") as third:
        pass
    assert third.beside == set()


def test_no_more_than_so_many_run_at_a_time() -> None:
    turns, entered = Turns(1), Event()

    def enter() -> None:
        with turns.beside("b"):
            entered.set()

    with ThreadPoolExecutor(1) as pool:
        with turns.beside("a"):
            waiting = pool.submit(enter)
            assert not entered.wait(WHILE)
        waiting.result()
    assert entered.is_set()


def test_one_that_is_to_be_alone_waits_for_all_and_comes_before_those_that_follow() -> None:
    turns, order, leave = Turns(2), [], Event()
    begun = [Event(), Event()]

    def stay() -> None:
        with turns.beside("first"):
            begun[0].set()
            leave.wait()
            order.append("first")

    def be_alone() -> None:
        begun[1].set()
        with turns.alone():
            order.append("alone")

    def follow() -> None:
        with turns.beside("later"):
            order.append("later")

    with ThreadPoolExecutor(3) as pool:
        tasks = [pool.submit(stay)]
        begun[0].wait()
        tasks.append(pool.submit(be_alone))
        begun[1].wait()
        Event().wait(WHILE)  # until it waits for its turn
        tasks.append(pool.submit(follow))
        Event().wait(WHILE)
        leave.set()
        for task in tasks:
            task.result()
    assert order == ["first", "alone", "later"]
