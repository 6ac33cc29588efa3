from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from pytest_brt.store import Once


def test_what_many_ask_for_is_made_once_and_others_wait_for_it() -> None:
    once: Once[str, str] = Once()
    begun, may_end = Event(), Event()
    made: list[str] = []

    def work(keys: Sequence[str]) -> list[str]:
        made.extend(keys)
        begun.set()
        assert may_end.wait(30)
        return [key.upper() for key in keys]

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(once.get_all, ["a", "b"], work)
        assert begun.wait(30)
        # Nobody waits who asks for something else.
        assert once.get("c", lambda: "C") == "C"
        second = pool.submit(once.get, "b", lambda: "other")
        assert not second.done()
        may_end.set()
        assert first.result(30) == ("A", "B")
        assert second.result(30) == "B"
    assert made == ["a", "b"]


def test_only_what_nobody_has_asked_for_is_made_and_in_the_order_of_the_keys() -> None:
    once: Once[int, int] = Once()
    assert once.get(2, lambda: 20) == 20
    asked: list[int] = []

    def work(keys: Sequence[int]) -> list[int]:
        asked.extend(keys)
        return [10 * key for key in keys]

    assert once.get_all([3, 2, 1, 3], work) == (30, 20, 10, 30)
    assert asked == [3, 1]


def test_whoever_waits_for_work_that_fails_fails_too() -> None:
    once: Once[str, int] = Once()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            once.get("a", lambda: 1 // 0)
    assert once.get("b", lambda: 1) == 1
