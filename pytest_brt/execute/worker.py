"""One zygote in its sandbox, seen from the tool: started, asked, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_brt.errors import SandboxProblem
from pytest_brt.execute.cgroup import make_group
from pytest_brt.execute.events import Event
from pytest_brt.execute.line import Line, Reply, WorkerGone, wait
from pytest_brt.types import FileChange

LAUNCHER = Path(__file__).parent / "launcher" / "__main__.py"
#: Seconds within which a zygote must have loaded pytest.
START_SECONDS = 120.0
#: Seconds that a worker gets to end by itself.
END_SECONDS = 5.0


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

    def fork(self, tests: Sequence[FileChange]) -> Line:
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
