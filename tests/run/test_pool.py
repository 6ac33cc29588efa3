"""Threads of a run belong to it alone, and keep nobody waiting."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import wait

import pytest

from pytest_brt.run.pool import DaemonPool

ENDLESS = """
import threading
from pytest_brt.run.pool import DaemonPool

begun = threading.Event()

def work():
    begun.set()
    while True:
        pass

pool = DaemonPool(2)
pool.submit(work)
begun.wait()
pool.shutdown(wait=False, cancel_futures=True)
"""


def test_tasks_begin_in_the_order_of_submission() -> None:
    begun: list[int] = []
    with DaemonPool(1) as pool:
        futures = [pool.submit(begun.append, number) for number in range(20)]
    assert all(future.done() for future in futures)
    assert begun == list(range(20))


def test_an_exception_is_the_result() -> None:
    with DaemonPool(2) as pool:
        future = pool.submit(int, "x")
    assert isinstance(future.exception(), ValueError)


def test_what_has_not_begun_is_cancelled_and_what_has_goes_on() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        return go_on.wait(60)

    pool = DaemonPool(1)
    first, second = pool.submit(work), pool.submit(work)
    begun.wait(60)
    pool.shutdown(wait=False, cancel_futures=True)
    assert second.cancelled()
    go_on.set()
    assert first.result(60)
    with pytest.raises(RuntimeError):
        pool.submit(work)


def test_the_end_of_one_run_leaves_the_threads_of_another_alone() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        return go_on.wait(60)

    one, other = DaemonPool(2), DaemonPool(2)
    future = other.submit(work)
    begun.wait(60)
    one.shutdown(wait=True, cancel_futures=True)
    go_on.set()
    assert future.result(60)
    other.shutdown()
    assert not wait([future]).not_done


def test_python_does_not_wait_for_work_that_goes_on() -> None:
    subprocess.run([sys.executable, "-c", ENDLESS], check=True, timeout=60)
