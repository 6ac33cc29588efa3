"""Follows one process of the subject: reads its events and watches its deadlines."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable
from typing import Protocol, Self

from pytest_brt.execute.process import Deadlines, Event, read_event

#: Bytes of events that are read before a process is held to be running wild.
EVENTS_LIMIT = 64 * 1024 * 1024
#: Events of one process.
EVENTS_MOST = 100_000
#: Bytes of one event: it takes many times as many once it is read.
EVENT_MOST = 4 * 1024 * 1024
#: Bytes that are read at once: as many as a pipe holds.
CHUNK = 65_536
#: Bytes that a pipe holds at most, if somebody has asked for more.
PIPE_MOST = 1024 * 1024


class Source(Protocol):
    """Something that is read from."""

    @property
    def ended(self) -> bool:
        """Whether nobody can write to it any more."""

    def fileno(self) -> int:
        """Return the descriptor."""


def wait(sources: Iterable[Source], last: float) -> bool:
    """Wait until a source has something to read, or ends; return False if none has by `last`."""
    poll = select.poll()
    for source in sources:
        if not source.ended:
            poll.register(source.fileno(), select.POLLIN)
    left = max(0.0, last - time.monotonic())
    return bool(poll.poll(left * 1000))


class Follower:
    """Reads the events of one process from a pipe of its own, and says when its time is over.

    Whoever holds the other end of the pipe may be hostile, so nothing here waits for it.
    """

    def __init__(self, deadlines: Deadlines) -> None:
        """Make the pipe; the time of the process begins now."""
        #: What the process has reported so far.
        self.events: list[Event] = []
        #: The process had to be ended: its time was over, or it reported too much.
        self.timed_out = False
        #: Every process has closed its end of the pipe.
        self.ended = False
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._pending = bytearray()
        #: Bytes that were read.
        self.received = 0
        self._seconds = deadlines.events
        now = time.monotonic()
        self._last = now + deadlines.total
        #: When its time is over, as things stand (monotonic).
        self.deadline = min(self._last, now + deadlines.start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_writer()
        os.close(self._reader)

    def fileno(self) -> int:
        """Return the descriptor of the end that is read, for `wait`."""
        return self._reader

    def close_writer(self) -> None:
        """Close our copy of the end `writer`, once the process has its own."""
        writer, self.writer = self.writer, -1
        if writer >= 0:
            os.close(writer)

    def may_go_on(self) -> bool:
        """Take in what there is to read; return whether the process has time left."""
        self._read()  # first: an event may give it more time
        self.timed_out = self._is_full() or time.monotonic() >= self.deadline
        return not self.timed_out

    def read_rest(self) -> None:
        """Take in what is left in the pipe of a process that has ended.

        Other processes may have the other end still: what they write now is not waited for.
        """
        last = self.received + PIPE_MOST
        while self.received < last and not self._is_full() and self._read():
            continue

    def _is_full(self) -> bool:
        return (
            self.received > EVENTS_LIMIT
            or len(self.events) > EVENTS_MOST
            or len(self._pending) > EVENT_MOST
        )

    def _read(self) -> bool:
        """Take in one chunk, if there is any; return whether there may be more."""
        try:
            data = os.read(self._reader, CHUNK)
        except BlockingIOError:
            return False
        self.ended = not data
        self.received += len(data)
        self._pending += data
        if b"\n" in data:
            *lines, rest = bytes(self._pending).split(b"\n")
            self._pending = bytearray(rest)
            for line in lines:
                self._take(read_event(line))
        return not self.ended

    def _take(self, event: Event) -> None:
        self.events.append(event)
        if event.event in self._seconds:
            seconds = self._seconds[event.event]
            self.deadline = min(self._last, time.monotonic() + seconds)
