"""One end of a connection to a process of the subject: messages out, marked lines in."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.execute.events import Event, read_event

#: Seconds within which a message must have been taken.
SEND_SECONDS = 120.0


class WorkerGone(Exception):
    """The zygote, or what holds it, ended or fell silent; never seen outside this layer."""


class WorkerSilent(WorkerGone):
    """The zygote lives, but nothing was heard of it in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a zygote or a row says of itself, past what tests tell."""

    event: str
    text: str = ""
    status: int = 0
    tail: str = ""
    seconds: float = 0.0
    timed_out: bool = False
    modules: tuple[str, ...] = ()
    in_tree: bool = False
    threads: int = 1
    shielded: bool = False


class Line:
    """Our end of one connection."""

    def __init__(self) -> None:
        """Make the pair; `theirs` is for the process that is to be spoken with."""
        self._socket, self.theirs = socket.socketpair()
        self._pending = bytearray()
        #: How far it has been looked through for the end of a line.
        self._seen = 0
        #: The other side has closed its end.
        self.ended = False
        #: Bytes that have come.
        self.received = 0

    def fileno(self) -> int:
        """Return the descriptor, for `select`."""
        return self._socket.fileno()

    def send(
        self,
        message: Mapping[str, object],
        passed: Self | None = None,
        *,
        seconds: float = SEND_SECONDS,
    ) -> None:
        """Send one message; with `passed`, the other end of that connection goes along.

        Raises:
            WorkerGone: nobody is there to take it.
        """
        data = to_json(message).encode("utf-8") + b"\n"
        try:
            self._socket.settimeout(seconds)
            if passed is not None:
                rights = struct.pack("i", passed.theirs.fileno())
                extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
                data = data[self._socket.sendmsg([data], extra) :]
            self._socket.sendall(data)
            self._socket.settimeout(None)  # what is received is never waited for
        except OSError as error:
            raise WorkerGone(f"cannot be asked: {error}") from error

    def receive(self) -> bool:
        """Take in what there is without waiting; return whether there was anything.

        Raises:
            WorkerGone: our own end was closed meanwhile.
        """
        try:
            data = self._socket.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError as error:
            if self.fileno() < 0:
                raise WorkerGone(f"ended: {error}") from error
            data = b""
        self.ended = self.ended or not data
        self.received += len(data)
        self._pending += data
        return bool(data)

    def take(self) -> Event | Reply | None:
        """Return the first message that is there as a whole; None when none is.

        Raises:
            WorkerGone: it is not one.
        """
        end = self._pending.find(b"\n", self._seen)
        if end < 0:
            self._seen = len(self._pending)
            return None
        self._seen = 0
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        if line.startswith(b"e"):
            return read_event(line[1:])
        try:
            return from_json(line[1:], Reply)
        except StoreProblem as error:
            raise WorkerGone(f"said what cannot be understood: {line[:80]!r}") from error

    def close(self) -> None:
        """Close both ends, as far as they are here."""
        self.theirs.close()
        self._socket.close()


def wait(lines: Iterable[Line], last: float) -> frozenset[int]:
    """Wait until one of the lines has something to read, or has ended; return which, by `fileno`.

    Raises:
        WorkerSilent: none had by the time `last` (monotonic).
        WorkerGone: our own end of one was closed.
    """
    poll = select.poll()
    for line in lines:
        if line.fileno() < 0:
            raise WorkerGone("ended")
        poll.register(line.fileno(), select.POLLIN)
    left = last - time.monotonic()
    ready = poll.poll(left * 1000) if left > 0 else []
    if not ready:
        raise WorkerSilent("fell silent")
    return frozenset(number for number, _ in ready)
