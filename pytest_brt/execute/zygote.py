"""One zygote in its sandbox, seen from the tool: started, asked, and ended; how it is talked to."""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import SandboxProblem, StoreProblem
from pytest_brt.execute.cgroup import JOINING, make_group, remove_group
from pytest_brt.execute.events import Event, read_event
from pytest_brt.execute.process import end_group

LAUNCHER = Path(__file__).parent / "launcher" / "__main__.py"
#: Seconds within which a zygote must have loaded pytest.
START_SECONDS = 120.0
#: Seconds that a worker gets to end by itself.
END_SECONDS = 5.0
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


class Worker:
    """A launcher, its sandbox, and the zygote in it."""

    def __init__(
        self,
        specification: Mapping[str, object],
        log: Path,
        memory_mb: int,
    ) -> None:
        """Start it and wait until it is ready; it writes its own troubles to `log`.

        All that is started there may use `memory_mb` together, where that can be limited.

        Raises:
            SandboxProblem: it says that it cannot be.
            WorkerGone: it ended, or did not answer.
        """
        self._line = Line()
        self._group = make_group(memory_mb)
        joining = str(self._group / JOINING) if self._group else ""
        #: The connection of the row that runs, or ran last.
        self._row: Line | None = None
        theirs = self._line.theirs
        life_reader, self._life = os.pipe()
        # Landlock comes from a package; else nothing beyond the standard library is needed.
        flags = ["-P"] if specification["level"] == "landlock" else ["-P", "-S", "-E"]
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                [sys.executable, *flags, str(LAUNCHER), str(theirs.fileno()), str(life_reader)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                pass_fds=(theirs.fileno(), life_reader),
                start_new_session=True,
            )
        theirs.close()
        os.close(life_reader)
        try:
            self.send({**specification, "group": joining})
            self.send(specification)  # the launcher leaves the second one to the zygote
            self.ready = self.reply(START_SECONDS)
        except WorkerGone as error:
            self.close()
            text = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise WorkerGone(text[-1] if text else str(error)) from error
        if self.ready.event != "ready":
            self.close()
            raise SandboxProblem(self.ready.text)

    def send(self, message: Mapping[str, object]) -> None:
        """Send one request.

        Raises:
            WorkerGone: nobody is there to take it.
        """
        self._line.send(message)

    def fork(self) -> Line:
        """Have a row forked; return its connection.

        Raises:
            WorkerGone: nobody is there to do it.
        """
        self._close_row()  # the zygote waits for its end
        row = self._row = Line()
        self._line.send({"op": "row"}, row)
        row.theirs.close()
        return row

    def reply(self, seconds: float) -> Reply:
        """Return the next thing that the zygote says.

        Raises:
            WorkerGone: it ended, or said nothing for `seconds`.
        """
        last = time.monotonic() + seconds
        while (said := self.look()) is None:
            wait([self._line], last)
        return said

    def look(self) -> Reply | None:
        """Return what the zygote has said, without waiting for it.

        Raises:
            WorkerGone: it ended.
        """
        while self._line.receive():
            continue
        said = self._line.take()
        if said is None and self._line.ended:
            raise WorkerGone("ended")
        if isinstance(said, Event):
            raise WorkerGone(f"said what is not its own: {said.event!r}")
        return said

    def await_any(self, line: Line, last: float) -> Reply | None:
        """Wait until `line` or the zygote has something to say, and return what the zygote has.

        Raises:
            WorkerGone: neither had by the time `last`, or the zygote ended.
        """
        ready = wait([self._line] if line.ended else [self._line, line], last)
        return self.look() if self._line.fileno() in ready else None

    def close(self) -> None:
        """End the zygote and everything in its sandbox; safe to call twice."""
        # Two threads may do this at the same time: one that runs a row, and one that ends all.
        life, self._life = self._life, -1
        if life >= 0 and self.process.poll() is None:
            # Processes that end one after the other collect their children.
            with suppress(WorkerGone, subprocess.TimeoutExpired):
                self._line.send({"op": "quit"}, seconds=0.5)
                self.process.wait(0.5)
        self._line.close()
        self._close_row()
        if life >= 0:
            os.close(life)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        end_group(self.process)
        if self._group is not None:
            remove_group(self._group)

    def _close_row(self) -> None:
        if self._row is not None:
            self._row.close()
