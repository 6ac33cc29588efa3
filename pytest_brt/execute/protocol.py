"""What is said to have a row, and cells of it, and what comes back: with a worker, or without."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.execute.events import Event, Places
from pytest_brt.execute.process import (
    EVENTS_LIMIT,
    EVENTS_MOST,
    Deadlines,
    Ended,
    run_script,
    scrubbed,
)
from pytest_brt.execute.row import Limits
from pytest_brt.execute.sandbox import FORKABLE, Sandbox
from pytest_brt.execute.scratch import MARK, Scratch
from pytest_brt.execute.subject import Subject
from pytest_brt.execute.touched import TouchedFile
from pytest_brt.execute.views import Folders, TreeSpoilt, View
from pytest_brt.execute.zygote import Line, Reply, Worker, WorkerGone
from pytest_brt.types import FileChange

#: Seconds past a test's own deadlines after which its row is held to be dead.
GRACE = 20.0
#: Seconds in which a process must end that said it is done.
ENDING = 10.0
#: What the process of a row may say of itself.
ROW_SAYS = frozenset(
    {"row_ready", "not_importable", "row_error", "returned", "cell_end", "no_process"}
)


class RowNotReady(WorkerGone):
    """A process could not be started or set up: no code of the project had any part in it."""


class RowDied(Exception):
    """The row's process ended where it should have gone on; the zygote lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSetting:
    """What is the same for all rows of an engine."""

    subject: Subject
    limits: Limits
    sandbox: Sandbox
    scratch: Scratch

    def rlimits(self) -> dict[str, int]:
        """Return the resource limits of a row begun now, by the names of `resource.RLIMIT_*`."""
        sandbox = self.sandbox
        found = {
            "AS": self.limits.memory_mb * 1024 * 1024,
            "CORE": 0,
            "FSIZE": 256 * 1024 * 1024,
            "NOFILE": 1024,
        }
        if sandbox.processes is not None:
            apart = sandbox.level == "ns"
            found["NPROC"] = sandbox.processes + (0 if apart else tasks_of(sandbox.uid))
        return found

    def environment(self, tree: str, folders: Folders, seed: int) -> dict[str, str]:
        """Return the whole environment of a process that runs code of the subject in `tree`.

        The user's PYTHONPATH comes after the source roots; the interpreter's folder is the first
        on PATH, so that the tests' own subprocesses find the same one.
        """
        given = {**dict(self.subject.env), MARK: str(self.scratch.path)}
        env = scrubbed(given)
        entries = [os.path.normpath(f"{tree}/{root}") for root in self.subject.source_roots]
        entries += [part for part in given.get("PYTHONPATH", "").split(os.pathsep) if part]
        env["PYTHONPATH"] = os.pathsep.join(entries)
        env["PATH"] = os.pathsep.join([str(Path(self.subject.python).parent), env["PATH"]])
        env["PYTHONHASHSEED"] = str(seed)
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        env["PYTEST_BRT_INNER"] = "1"
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        env.setdefault("USER", "nobody")
        env.setdefault("LOGNAME", env["USER"])
        return {**folders.env(), **env}

    def changed_environment(self, folders: Folders) -> dict[str, str]:
        """Return what the folders of a test change in its environment."""
        given = dict(self.subject.env)
        return {name: value for name, value in folders.env().items() if name not in given}

    def places(self, tree: str) -> Places:
        """Return the map from paths as processes name them to the project's own."""
        return Places(tree=tree, root=self.subject.root, libraries=self.subject.paths)


def test_deadlines(limits: Limits) -> Deadlines:
    """Return the deadlines of a test process: for starting, for each item, for ending."""
    return Deadlines(
        start=max(limits.start_seconds, limits.seconds),
        total=limits.row_seconds,
        events={"item": limits.seconds, "item_end": limits.seconds, "finish": ENDING},
    )


@dataclass(frozen=True, kw_only=True)
class RowOrder:
    """What the process of a row is to be; it goes to `inside/row.py` as it is."""

    #: "fork" for one that imports the project and configures pytest, to fork its cells; "exec"
    #: for one whose cells are new interpreters.
    kind: str = "exec"
    changes: Sequence[FileChange] = ()
    imports: Sequence[str] = ()
    #: Files of which each test tells whether changed lines were executed, and those of which it
    #: tells which lines were.
    touched: Sequence[TouchedFile] = ()
    watch: Sequence[str] = ()
    args: Sequence[str] = ()
    #: What it writes is what later rows start from: no code of the project may run in it.
    keep: bool = False


@dataclass(frozen=True, kw_only=True)
class CellOrder:
    """What one cell is to do; it goes to `inside/row.py` as it is."""

    deadlines: Deadlines
    #: Files of the tree, and of the working directory.
    files: Sequence[FileChange] = ()
    work: Sequence[FileChange] = ()
    #: For pytest, in a row that was forked.
    args: Sequence[str] = ()
    #: The file of tests, relative to the tree.
    target: str = ""
    deselect: Sequence[str] = ()
    #: For a new interpreter, in a row that was not: a script of `inside/`, by its name.
    script: str = ""
    #: Its interpreter's own options.
    flags: Sequence[str] = ()
    spec: Mapping[str, object] | None = None
    in_work: bool = False
    keep: bool = False


class Conversation:
    """Talks with a worker, and with the row's process that it forks.

    That process runs code of the project, so nothing of it but what a row may say is listened
    to; that it is over, the zygote says.
    """

    def __init__(self, worker: Worker, view: View, setting: EngineSetting) -> None:
        self.view = view
        ready = worker.ready
        able = setting.subject.pytest_version >= FORKABLE
        #: Rows can be forked: pytest can, and is not the subject itself.
        self.forkable = able and not ready.in_tree and ready.threads == 1
        self._worker = worker
        self._setting = setting
        self._line: Line
        self._rlimits: dict[str, int] = {}
        #: What the zygote said of the end of the row.
        self._over: Reply | None = None

    def begin(self, order: RowOrder) -> Reply:
        """Start a row and return what it says first; it is over unless that is "row_ready".

        Raises:
            RowNotReady: it is to run new interpreters, and cannot.
            WorkerGone: it said nothing in time.
        """
        setting = self._setting
        self._rlimits = setting.rlimits()
        self.view.begin_row(order.changes)
        self._line, self._over = self._worker.fork(), None
        self._send(
            {
                **vars(order),
                "changes": self._sent(order.changes),
                "bare": not order.changes,
                "limits": self._rlimits,
                "env": setting.changed_environment(self.view.row_folders),
            }
        )
        _, reply = self._follow(test_deadlines(setting.limits).start + GRACE)
        if reply.event != "row_ready":
            self.end()
            if order.kind == "exec":
                raise RowNotReady(f"said: {reply.text or reply.tail or reply.event}")
        return reply

    def cell(self, order: CellOrder) -> Ended:
        """Run one cell to its end.

        Raises:
            RowDied: the row ended first.
            RowNotReady: no process could be started for it.
            WorkerGone: so did the zygote, or nothing was heard in time.
        """
        try:
            events, reply = self._ask(order)
        except TreeSpoilt as error:
            self.end()
            raise RowDied(str(error)) from error
        if reply.event == "no_process":
            raise RowNotReady(f"said: {reply.text}")
        if reply.event != "cell_end":
            self.end()
            raise RowDied(reply.text or "it ended")
        return Ended(
            events=events,
            status=reply.status,
            timed_out=reply.timed_out,
            tail=reply.tail,
            seconds=reply.seconds,
        )

    def end(self) -> None:
        """Have the row end, and all it left, and wait for the news of it.

        Raises:
            WorkerGone: that took too long.
        """
        self._line.close()
        if self._over is None:
            self._over = self._worker.reply(GRACE)

    def _ask(self, order: CellOrder) -> tuple[tuple[Event, ...], Reply]:
        with self.view.cell(order.files, order.work) as folders:
            self._send(
                {
                    **vars(order),
                    "files": self._sent(order.files),
                    "work": self._sent(order.work),
                    "folders": folders,
                    "cwd": folders.work if order.in_work else self.view.tree,
                    "env": self._setting.changed_environment(folders),
                    "limits": self._rlimits,
                    "spec": {**(order.spec or {}), "limits": self._rlimits},
                }
            )
            return self._follow(order.deadlines.total + GRACE)

    def _sent(self, files: Sequence[FileChange]) -> Sequence[FileChange]:
        """Return the files that a process must write itself: in a copy they are there already."""
        return files if self._setting.sandbox.level == "ns" else ()

    def _send(self, message: Mapping[str, object]) -> None:
        """Send one request; a row that has ended says so when it is listened to."""
        try:
            self._line.send(message)
        except WorkerGone:
            return

    def _follow(self, seconds: float) -> tuple[tuple[Event, ...], Reply]:
        """Return what a test told until the row said something of itself, and that.

        Raises:
            WorkerGone: that took more than `seconds`, or a process ended.
        """
        events: list[Event] = []
        line = self._line
        # A row ends a test that tells too much; twice as much comes of a row that does not.
        most = line.received + 2 * EVENTS_LIMIT
        last = time.monotonic() + seconds
        while True:
            said = line.take()
            if isinstance(said, Event):
                events.append(said)
            elif said is not None:
                if said.event not in ROW_SAYS:
                    raise WorkerGone(f"said what is not its own: {said.event!r}")
                return tuple(events), said
            elif not line.receive():
                if self._over is not None:
                    return tuple(events), self._over
                self._over = self._worker.await_any(line, last)
            elif line.received > most or len(events) > 2 * EVENTS_MOST:
                raise WorkerGone("told more than can be kept")


class Alone:
    """Runs each cell as a process of ours, without worker or forks: for systems other than Linux.

    It is the level `none` too.
    """

    def __init__(self, view: View, setting: EngineSetting, seed: int) -> None:
        self.view = view
        self.forkable = False
        self._setting = setting
        self._seed = seed

    def begin(self, order: RowOrder) -> Reply:
        """Change the tree."""
        self.view.begin_row(order.changes)
        return Reply(event="row_ready")

    def cell(self, order: CellOrder) -> Ended:
        """Run one process to its end.

        Raises:
            RowDied: the tree cannot be set back.
        """
        setting, tree = self._setting, self.view.tree
        try:
            with self.view.cell(order.files, order.work) as folders:
                return run_script(
                    [setting.subject.python, *order.flags],
                    order.script,
                    {**(order.spec or {}), "limits": setting.rlimits()},
                    Path(folders.tmp),
                    env=setting.environment(tree, folders, self._seed),
                    cwd=folders.work if order.in_work else tree,
                    deadlines=order.deadlines,
                )
        except TreeSpoilt as error:
            raise RowDied(str(error)) from error

    def end(self) -> None:
        """Nothing runs between the cells."""


#: How rows are run in one place, one after the other.
Talk = Conversation | Alone


def tasks_of(uid: int | None) -> int:
    """Return how many processes and threads a user (None: this one) has now, on Linux.

    The kernel holds RLIMIT_NPROC against all of them (setrlimit(2)), whoever started them.
    """
    wanted = os.getuid() if uid is None else uid
    count = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if folder.stat().st_uid == wanted:
                count += sum(1 for _ in (folder / "task").iterdir())
        except OSError:
            continue  # it ended meanwhile
    return count
