"""One zygote in its sandbox, seen from the tool: started, asked for rows, and ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_brt.errors import SandboxProblem
from pytest_brt.execute.follower import Follower, wait
from pytest_brt.execute.memory_group import JOINING, make_group, remove_group
from pytest_brt.execute.process import Ended, end_group
from pytest_brt.execute.protocol import (
    WARM_SECONDS,
    CellOrder,
    EngineSetting,
    Line,
    Reply,
    RowNotReady,
    RowOrder,
    WorkerGone,
    WorkerSilent,
    test_deadlines,
)
from pytest_brt.execute.sandbox import FORKABLE
from pytest_brt.execute.views import RowDied, View
from pytest_brt.types import FileChange

LAUNCHER = Path(__file__).parent / "launcher" / "__main__.py"
#: Seconds within which a zygote must have loaded pytest.
START_SECONDS = 60.0
#: Seconds that a worker gets to end by itself.
END_SECONDS = 5.0
#: Seconds in which a row must do what it is told at once; one that does not is held to be dead.
GRACE = 20.0


class Worker:
    """A launcher, its sandbox, the zygote in it, and the row that this forks.

    The row's process runs code of the project, so nothing of it but what a row may say is listened
    to; that it is over, the zygote says. Every method but `close` raises WorkerGone where the
    zygote ended, or said nothing in time.
    """

    def __init__(self, setting: EngineSetting, view: View, seed: int, log: Path) -> None:
        """Start it and wait until it is ready; it writes its own troubles to `log`.

        Raises:
            SandboxProblem: it says that it cannot be.
        """
        self.view = view
        #: The zygote was told what to load.
        self.loaded = False
        self._setting = setting
        self._line = Line()
        #: The connection of the row that runs, or ran last.
        self._row = Line()
        #: What the zygote said of the end of the row.
        self._over: Reply | None = None
        # All that is started there may use this together, where that can be limited.
        self._group = make_group(setting.limits.memory_mb)
        specification = setting.specification(view, seed)
        self._start(log)
        joining = str(self._group / JOINING) if self._group else ""
        try:
            self._line.send({**specification, "group": joining})
            self._line.send(specification)  # the launcher leaves the second one to the zygote
            ready = self._reply(START_SECONDS)
        except WorkerGone as error:
            self.close()
            text = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise type(error)(text[-1] if text else str(error)) from error
        if ready.event != "ready":
            self.close()
            raise SandboxProblem(ready.text)
        able = setting.subject.pytest_version >= FORKABLE
        #: Rows can be forked, with the project imported.
        self.forkable = able and ready.forks

    def _start(self, log: Path) -> None:
        theirs = self._line.theirs
        life_reader, self._life = os.pipe()
        # Landlock comes from a package; else nothing beyond the standard library is needed.
        landlock = self._setting.sandbox.level == "landlock"
        flags = ["-P"] if landlock else ["-P", "-S", "-E"]
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

    def preload(self, names: Sequence[str]) -> None:
        """Have the zygote load libraries that all rows need."""
        self.loaded = True
        self._line.send({"op": "preload", "names": names})
        self._reply(WARM_SECONDS)

    def compile(self, paths: Sequence[str]) -> None:
        """Compile modules of the project, before any row begins."""
        self._line.send({"op": "compile", "paths": paths})
        self._reply(WARM_SECONDS)

    def begin(self, order: RowOrder) -> Reply:
        """Start a row and return what it says first; it is over unless that is "row_ready".

        Raises:
            RowNotReady: it is to run new interpreters, and cannot.
        """
        setting = self._setting
        self.view.begin_row(order.changes)
        self._row.close()  # the zygote waits for its end
        self._row, self._over = Line(), None
        self._line.send({"op": "row"}, self._row.theirs.fileno())
        self._row.theirs.close()
        self._send(
            {
                **vars(order),
                "changes": self._sent(order.changes),
                "bare": not order.changes,
                "limits": setting.rlimits(),
                "env": setting.changed_environment(self.view.row_folders),
            }
        )
        reply = self._row_reply(test_deadlines(setting.limits).start + GRACE)
        if reply.event != "row_ready":
            self.end()
            if order.kind == "exec":
                raise RowNotReady(f"said: {reply.text or reply.tail or reply.event}")
        return reply

    def cell(self, order: CellOrder) -> Ended:
        """Run one cell to its end.

        Raises:
            RowDied: the row ended first, or can have no more cells.
            RowNotReady: no process could be started for it.
        """
        with (
            self.view.cell(order.files, order.work) as folders,
            Follower(order.deadlines) as follower,
        ):
            self._send(
                {
                    **vars(order),
                    "files": self._sent(order.files),
                    "work": self._sent(order.work),
                    "folders": folders,
                    "cwd": folders.work if order.in_work else self.view.tree,
                    "env": self._setting.changed_environment(folders),
                },
                follower.writer,
            )
            follower.close_writer()
            reply = self._follow(follower)
            follower.read_rest()
        if reply.event == "no_process":
            raise RowNotReady(f"said: {reply.text}")
        if reply.event != "cell_end":
            raise RowDied(reply.text or "it ended")
        return Ended(
            events=tuple(follower.events),
            status=reply.status,
            timed_out=follower.timed_out,
            tail=reply.tail,
            seconds=reply.seconds,
            cpu=reply.cpu,
            told=follower.received,
        )

    def end(self) -> None:
        """Have the row end, and all it left, and wait for the news of it."""
        self._row.close()
        if self._over is None:
            self._over = self._reply(GRACE)

    def _sent(self, files: Sequence[FileChange]) -> Sequence[FileChange]:
        """Return the files that a process must write itself: in a copy they are there already."""
        return files if self._setting.sandbox.level == "ns" else ()

    def _send(self, message: Mapping[str, object], passed: int | None = None) -> None:
        """Send the row a request; one that has ended says so when it is listened to."""
        with suppress(WorkerGone):
            self._row.send(message, passed)

    def _follow(self, follower: Follower) -> Reply:
        """Return what the row says of the end of a test, which is killed when its time is over."""
        while (said := self._row_said()) is None:
            if not follower.may_go_on():
                with suppress(WorkerGone):
                    self._row.send({"op": "kill"}, seconds=GRACE)
                return self._row_reply(GRACE)
            wait([self._line, self._row, follower], follower.deadline)
        return said

    def _row_reply(self, seconds: float) -> Reply:
        """Return the next thing that the row says, or what is said of its end."""
        return _await(self._row_said, [self._line, self._row], seconds)

    def _row_said(self) -> Reply | None:
        """Return what the row has said, or the zygote of its end, without waiting for it."""
        if self._over is None:
            self._over = self._zygote_said()
        return self._row.take() or self._over  # what it said before its end counts

    def _reply(self, seconds: float) -> Reply:
        """Return the next thing that the zygote says."""
        return _await(self._zygote_said, [self._line], seconds)

    def _zygote_said(self) -> Reply | None:
        """Return what the zygote has said, without waiting for it."""
        said = self._line.take()
        if said is None and self._line.ended:
            raise WorkerGone("ended")
        return said

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
        self._row.close()
        if life >= 0:
            os.close(life)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        end_group(self.process)
        if self._group is not None:
            remove_group(self._group)


def _await(look: Callable[[], Reply | None], lines: Iterable[Line], seconds: float) -> Reply:
    """Return what `look` finds on one of the lines, within so many seconds.

    Raises:
        WorkerSilent: nothing came in time.
    """
    last = time.monotonic() + seconds
    while (said := look()) is None:
        if not wait(lines, last):
            raise WorkerSilent("fell silent")
    return said
