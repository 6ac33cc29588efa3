"""One zygote in its sandbox, seen from the tool: started, asked, and ended."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.codec import from_json
from pytest_brt.errors import SandboxProblem, StoreProblem
from pytest_brt.execute.events import Event, read_event
from pytest_brt.execute.process import EVENTS_LIMIT, Ended

LAUNCHER = Path(__file__).parent / "launcher" / "__main__.py"
#: Seconds within which a zygote must have loaded pytest.
START_SECONDS = 120.0
#: Seconds that a worker gets to end by itself.
END_SECONDS = 5.0


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
    code: int = 0
    tail: str = ""
    seconds: float = 0.0
    timed_out: bool = False
    modules: tuple[str, ...] = ()
    in_tree: bool = False
    threads: int = 1
    shielded: bool = False
    count: int = 0
    pid: int = 0


class Worker:
    """A launcher, its sandbox, and the zygote in it."""

    def __init__(
        self, specification: Mapping[str, object], config: Mapping[str, object], log: Path
    ) -> None:
        """Start it and wait until it is ready; it writes its own troubles to `log`.

        Raises:
            SandboxProblem: it says that it cannot be.
            WorkerGone: it ended, or did not answer.
        """
        ours, theirs = socket.socketpair()
        life_reader, self._life = os.pipe()
        # Landlock comes from a package; else nothing beyond the standard library is needed.
        flags = ["-P"] if specification["level"] == "landlock" else ["-P", "-S", "-E"]
        self._socket = ours
        self._pending = b""
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
            self.send(specification)
            self.send(config)
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
        data = json.dumps(message).encode("ascii") + b"\n"
        try:
            self._socket.settimeout(START_SECONDS)
            self._socket.sendall(data)
        except OSError as error:
            raise WorkerGone(f"cannot be asked: {error}") from error

    def reply(self, seconds: float) -> Reply:
        """Return the next thing that the zygote or the row says of itself.

        Raises:
            WorkerGone: it said nothing for `seconds`.
        """
        return self.follow(seconds)[1]

    def follow(self, seconds: float) -> tuple[tuple[Event, ...], Reply]:
        """Return what a test told until the row said something of itself, and that.

        Raises:
            WorkerGone: that took more than `seconds`, or the process ended.
        """
        events: list[Event] = []
        received = 0
        last = time.monotonic() + seconds
        while True:
            line = self._line(last)
            received += len(line)
            if received > EVENTS_LIMIT:
                raise WorkerGone("told more than can be kept")
            if line.startswith(b"e"):
                events.append(read_event(line[1:]))
                continue
            try:
                return tuple(events), from_json(line[1:], Reply)
            except StoreProblem as error:
                raise WorkerGone(f"said what cannot be understood: {line[:80]!r}") from error

    def _line(self, last: float) -> bytes:
        while b"\n" not in self._pending:
            left = last - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                raise WorkerSilent("fell silent")
            try:
                data = self._socket.recv(1 << 16)
            except OSError as error:
                raise WorkerGone(f"ended: {error}") from error
            if not data:
                raise WorkerGone("ended")
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def close(self) -> None:
        """End the zygote and everything in its sandbox; safe to call twice."""
        # Two threads may do this at the same time: one that runs a row, and one that ends all.
        life, self._life = self._life, -1
        if life >= 0 and self.process.poll() is None:
            self._ask_to_end()
        self._socket.close()
        if life >= 0:
            os.close(life)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
        else:
            self._kill_group()

    def _ask_to_end(self) -> None:
        """Let the processes end one after the other, each collecting its children."""
        try:
            self._socket.settimeout(0.5)
            self._socket.sendall(b'{"op": "quit"}\n')
            self.process.wait(0.5)
        except (OSError, subprocess.TimeoutExpired):
            return

    def _kill(self) -> None:
        self._kill_group()
        self.process.kill()
        self.process.wait()

    def _kill_group(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return


def ended(events: tuple[Event, ...], reply: Reply) -> Ended:
    """Return how a cell went, from what it told and what its row said."""
    return Ended(
        events=events,
        status=reply.status,
        timed_out=reply.timed_out,
        tail=reply.tail,
        seconds=reply.seconds,
    )
