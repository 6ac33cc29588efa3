"""One zygote in its sandbox, seen from the tool: started, asked, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pytest_brt.errors import SandboxProblem
from pytest_brt.execute.cgroup import make_group
from pytest_brt.execute.events import Event
from pytest_brt.execute.line import Line, Reply, WorkerGone, wait
from pytest_brt.execute.process import EVENTS_LIMIT, EVENTS_MOST, Ended
from pytest_brt.execute.views import Sent

LAUNCHER = Path(__file__).parent / "launcher" / "__main__.py"
#: Seconds within which a zygote must have loaded pytest.
START_SECONDS = 120.0
#: Seconds that a worker gets to end by itself.
END_SECONDS = 5.0
#: What the process of a row may say of itself.
ROW_SAYS = frozenset(
    {"row_ready", "not_importable", "row_error", "returned", "cell_end", "no_process"}
)


class Worker:
    """A launcher, its sandbox, and the zygote in it."""

    def __init__(
        self,
        specification: Mapping[str, object],
        config: Mapping[str, object],
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
        joining = self._group.joining if self._group else ""
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
        self._line.send(message)

    def fork(self, tests: Sent) -> Line:
        """Have a row forked that is to run, among others, these `tests`; return its connection.

        Raises:
            WorkerGone: nobody is there to do it.
        """
        self._close_row()
        row = self._row = Line()
        self._line.send({"op": "row", "tests": tests}, row)
        row.theirs.close()
        return row

    def _close_row(self) -> None:
        if self._row is not None:
            self._row.close()

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
            self._ask_to_end()
        self._line.close()
        self._close_row()
        if life >= 0:
            os.close(life)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
        else:
            self._kill_group()
        if self._group is not None:
            self._group.close()

    def _ask_to_end(self) -> None:
        """Let the processes end one after the other, each collecting its children."""
        try:
            self._line.send({"op": "quit"}, seconds=0.5)
            self.process.wait(0.5)
        except (WorkerGone, subprocess.TimeoutExpired):
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


class RowLine:
    """The connection of one row, and the news of its end from the zygote that forked it.

    The row's process runs code of the project, so nothing of it but what a row may say is
    listened to; that it is over, the zygote says.
    """

    def __init__(self, worker: Worker, tests: Sent) -> None:
        """Have a row forked that is to run, among others, these `tests`.

        Raises:
            WorkerGone: nobody is there to do it.
        """
        self._worker = worker
        self._line = worker.fork(tests)
        self._over: Reply | None = None

    def send(self, message: Mapping[str, object]) -> None:
        """Send one request; one that has ended says so when it is listened to."""
        try:
            self._line.send(message)
        except WorkerGone:
            return

    def follow(self, seconds: float) -> tuple[tuple[Event, ...], Reply]:
        """Return what a test told until the row said something of itself, and that.

        Raises:
            WorkerGone: that took more than `seconds`, or a process ended.
        """
        events: list[Event] = []
        # A row ends a test that tells too much; twice as much comes of a row that does not.
        most = self._line.received + 2 * EVENTS_LIMIT
        last = time.monotonic() + seconds
        while True:
            said = self._line.take()
            if isinstance(said, Event):
                events.append(said)
            elif said is not None:
                if said.event not in ROW_SAYS:
                    raise WorkerGone(f"said what is not its own: {said.event!r}")
                return tuple(events), said
            elif not self._line.receive():
                if self._over is not None:
                    return tuple(events), self._over
                self._over = self._worker.await_any(self._line, last)
            elif self._line.received > most or len(events) > 2 * EVENTS_MOST:
                raise WorkerGone("told more than can be kept")

    def end(self, seconds: float) -> None:
        """Have the row end, and wait for the news of it.

        Raises:
            WorkerGone: that took more than `seconds`.
        """
        self._line.close()
        if self._over is None:
            self._over = self._worker.reply(seconds)


def ended(events: tuple[Event, ...], reply: Reply) -> Ended:
    """Return how a cell went, from what it told and what its row said."""
    return Ended(
        events=events,
        status=reply.status,
        timed_out=reply.timed_out,
        tail=reply.tail,
        seconds=reply.seconds,
    )
