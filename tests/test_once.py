from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from pytest_brt.store import Once


def test_what_many_ask_for_is_made_once_and_others_wait_for_it() -> None:
    once: Once[str, str] = Once()
    begun, may_end = Event(), Event()

    def work() -> str:
        begun.set()
        assert may_end.wait(30)
        return "A"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(once.get, "a", work)
        assert begun.wait(30)
        # Nobody waits who asks for something else.
        assert once.get("b", lambda: "B") == "B"
        second = pool.submit(once.get, "a", lambda: "other")
        assert not second.done()
        may_end.set()
        assert (first.result(30), second.result(30)) == ("A", "A")


def test_whoever_waits_for_work_that_fails_fails_too() -> None:
    once: Once[str, int] = Once()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            once.get("a", lambda: 1 // 0)
    assert once.get("b", lambda: 1) == 1
