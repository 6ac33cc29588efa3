from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterator

import pytest

from pytest_brt.execute import follower
from pytest_brt.execute.follower import Follower, wait
from pytest_brt.execute.process import Deadlines, Event

#: Far longer than any of these tests takes.
LONG = 600.0


@pytest.fixture
def followed() -> Iterator[Follower]:
    """Follow a process that has much time, this one."""
    with Follower(Deadlines(start=LONG, total=LONG)) as found:
        yield found


def test_what_is_told_in_pieces_is_put_together(followed: Follower) -> None:
    for piece in (b'{"event": "item"', b', "node": "a"}\n{"event":', b' "finish"}\n{"event": "cut'):
        os.write(followed.writer, piece)
        assert followed.may_go_on()
    assert followed.events == [Event(event="item", node="a"), Event(event="finish")]


def test_an_event_gives_the_seconds_that_are_named_for_it_but_no_more_than_all() -> None:
    deadlines = Deadlines(start=10.0, total=100.0, events={"item": 50.0, "finish": LONG})
    with Follower(deadlines) as followed:
        begin = followed.deadline
        os.write(followed.writer, b'{"event": "report"}\n')
        assert followed.may_go_on()
        assert followed.deadline == begin
        os.write(followed.writer, b'{"event": "item"}\n')
        assert followed.may_go_on()
        assert followed.deadline == pytest.approx(begin + 40.0, abs=5.0)
        os.write(followed.writer, b'{"event": "finish"}\n')
        assert followed.may_go_on()
        assert followed.deadline == pytest.approx(begin + 90.0, abs=0.01)


def test_what_was_told_before_anybody_looked_gives_time_too() -> None:
    with Follower(Deadlines(start=0.0, total=LONG, events={"item": LONG})) as followed:
        os.write(followed.writer, b'{"event": "item"}\n')
        assert followed.may_go_on()
        assert not followed.timed_out


def test_time_is_over_at_the_deadline() -> None:
    with Follower(Deadlines(start=0.0, total=LONG)) as followed:
        os.write(followed.writer, b'{"event": "report"}\n')
        assert not followed.may_go_on()
        assert followed.timed_out
        assert followed.events == [Event(event="report")]


@pytest.mark.parametrize(("limit", "most"), [("EVENTS_LIMIT", 99), ("EVENTS_MOST", 9)])
def test_one_that_tells_too_much_has_no_time_left(
    followed: Follower, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(follower, limit, most)
    os.write(followed.writer, b"odd\n" * 9)
    assert followed.may_go_on()
    os.write(followed.writer, b"odd\n" * 90)
    assert not followed.may_go_on()
    kept = len(followed.events)
    os.write(followed.writer, b"odd\n")
    followed.read_rest()
    assert len(followed.events) == kept


def test_one_event_without_end_is_too_much(
    followed: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "EVENT_MOST", 99)
    for _ in range(9):
        os.write(followed.writer, b"x" * 50 + b"\n")
        assert followed.may_go_on()
    os.write(followed.writer, b"x" * 100)
    assert not followed.may_go_on()


def test_the_rest_is_read_whether_or_not_others_have_the_pipe(followed: Follower) -> None:
    told = b'{"event": "report"}\n' * 3000
    assert os.write(followed.writer, told) == len(told)
    followed.read_rest()
    assert len(followed.events) == 3000
    assert not followed.ended
    os.write(followed.writer, b'{"event": "finish"}\n')
    followed.close_writer()
    followed.read_rest()
    assert followed.events[-1] == Event(event="finish")
    assert followed.ended


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such pipes")
def test_the_rest_is_read_where_each_line_is_read_by_itself(followed: Follower) -> None:
    fcntl.fcntl(followed.writer, fcntl.F_SETPIPE_SZ, follower.PIPE_MOST)
    fcntl.fcntl(followed.writer, fcntl.F_SETFL, os.O_WRONLY | os.O_DIRECT)
    for _ in range(200):
        os.write(followed.writer, b'{"event": "report"}\n')
    followed.read_rest()
    assert len(followed.events) == 200


def test_what_is_told_after_the_end_is_not_read_for_ever(
    followed: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "CHUNK", 10)
    monkeypatch.setattr(follower, "PIPE_MOST", 25)
    os.write(followed.writer, b"odd\n" * 99)
    followed.read_rest()
    assert len(followed.events) == 7  # in three chunks


def test_a_pipe_that_nobody_has_any_more_wakes_nobody(followed: Follower) -> None:
    followed.close_writer()
    assert wait([followed], time.monotonic() + LONG)
    assert followed.may_go_on()
    assert followed.ended
    assert not wait([followed], time.monotonic() + 0.01)
