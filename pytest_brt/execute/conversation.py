"""What is said to a worker to have a row, and cells of it, and what comes back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.execute.events import Event, Places
from pytest_brt.execute.line import Reply, WorkerGone
from pytest_brt.execute.plain import resource_limits, test_deadlines
from pytest_brt.execute.process import Deadlines, Ended
from pytest_brt.execute.row import Limits
from pytest_brt.execute.sandbox import Sandbox
from pytest_brt.execute.subject import Subject
from pytest_brt.execute.touched import TouchedFile
from pytest_brt.execute.views import Folders, TreeSpoilt, View, encode
from pytest_brt.execute.worker import RowLine, Worker, ended
from pytest_brt.types import FileChange

#: Seconds past a test's own deadlines after which its row is held to be dead.
GRACE = 20.0


class RowNotReady(WorkerGone):
    """A process could not be started or set up: no code of the project had any part in it."""


class RowDied(Exception):
    """The row's process ended where it should have gone on; the zygote lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is the same for all rows of an engine."""

    subject: Subject
    limits: Limits
    sandbox: Sandbox

    def rlimits(self) -> dict[str, int]:
        """Return the resource limits of a row begun now, by the names of `resource.RLIMIT_*`."""
        sandbox = self.sandbox
        found = resource_limits(self.limits)
        if sandbox.processes is not None:
            apart = sandbox.level == "ns"
            found["NPROC"] = sandbox.processes + (0 if apart else tasks_of(sandbox.uid))
        return found

    def environment(self, folders: Folders) -> dict[str, str]:
        """Return what the folders of a test change in its environment."""
        given = dict(self.subject.env)
        return {name: value for name, value in folders.env().items() if name not in given}

    def places(self, tree: str) -> Places:
        """Return the map from paths as processes name them to the project's own."""
        return Places(tree=tree, root=self.subject.root, libraries=self.subject.paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOrder:
    """What one cell is to do."""

    deadlines: Deadlines
    #: Files of the tree, and of the working directory.
    files: Sequence[FileChange] = ()
    work: Sequence[FileChange] = ()
    #: For pytest, in a row that was forked.
    args: Sequence[str] = ()
    #: The file of tests, relative to the tree.
    target: str = ""
    deselect: Sequence[str] = ()
    #: For a new interpreter, in a row that was not.
    script: str = ""
    #: Its interpreter's own options.
    flags: Sequence[str] = ()
    spec: dict[str, object] | None = None
    in_work: bool = False
    keep: bool = False


class Conversation:
    """A row's process on a worker, from its start to its end."""

    def __init__(self, worker: Worker, view: View, setting: Setting) -> None:
        self.worker = worker
        self.row: RowLine | None = None
        self.view = view
        self.setting = setting
        #: Libraries that importing the unpatched project loaded, for the next zygote.
        self.modules: tuple[str, ...] = ()
        self._rlimits = setting.rlimits()

    def begin(
        self,
        *,
        kind: str,
        changes: Sequence[FileChange],
        imports: Sequence[str] = (),
        touched: Sequence[TouchedFile] = (),
        mapping: bool = False,
        args: Sequence[str] = (),
        tests: Sequence[FileChange] = (),
        keep: bool = False,
    ) -> Reply:
        """Start the process and return what it says first; it is over unless "row_ready".

        `tests` are the files that its cells will run, to have their asserts rewritten once;
        with `mapping`, each test tells which lines of the `touched` files it executed.

        Raises:
            WorkerGone: it said nothing in time.
        """
        setting = self.setting
        sent = self.view.begin_row(changes)
        self.row = RowLine(self.worker, encode(tests) if kind == "fork" else [])
        self.row.send(
            {
                "kind": kind,
                "changes": sent,
                "imports": list(imports),
                "touched": [file.plain() for file in touched],
                "mapping": mapping,
                "args": list(args),
                "keep": keep,
                "bare": not changes,
                "limits": self._rlimits,
                "env": setting.environment(self.view.row_folders),
            }
        )
        _, reply = self.row.follow(test_deadlines(setting.limits).start + GRACE)
        if reply.event != "row_ready":
            self.row.end(GRACE)
        elif not changes:  # what a patch says of libraries is not to decide anything for others
            self.modules = reply.modules
        return reply

    @staticmethod
    def expect(reply: Reply) -> None:
        """Go on only if the row's process is ready.

        Raises:
            RowNotReady: it is not, and what it said of that.
        """
        if reply.event != "row_ready":
            raise RowNotReady(f"said: {reply.text or reply.tail or reply.event}")

    def cell(self, order: CellOrder) -> Ended:
        """Run one cell to its end.

        Raises:
            RowDied: the row's process ended first.
            RowNotReady: no process could be started for it.
            WorkerGone: so did the zygote, or nothing was heard in time.
        """
        assert self.row is not None
        try:
            events, reply = self._ask(self.row, order)
        except TreeSpoilt as error:
            self.row.end(GRACE)
            raise RowDied(str(error)) from error
        if reply.event == "no_process":
            raise RowNotReady(f"said: {reply.text}")
        if reply.event != "cell_end":
            self.row.end(GRACE)
            raise RowDied(reply.text or "it ended")
        return ended(events, reply)

    def _ask(self, row: RowLine, order: CellOrder) -> tuple[tuple[Event, ...], Reply]:
        setting = self.setting
        with self.view.cell(order.files, order.work) as (folders, files, work):
            row.send(
                {
                    "allow": order.deadlines.plain(),
                    "args": list(order.args),
                    "deselect": list(order.deselect),
                    "target": order.target,
                    "files": files,
                    "work": work,
                    "folders": folders.plain(),
                    "cwd": folders.work if order.in_work else self.view.tree,
                    "env": setting.environment(folders),
                    "limits": self._rlimits,
                    "script": order.script,
                    "flags": list(order.flags),
                    "spec": {**(order.spec or {}), "limits": self._rlimits},
                    "keep": order.keep,
                }
            )
            return row.follow(order.deadlines.total + GRACE)

    def end(self) -> None:
        """Have the process end, and all it left."""
        assert self.row is not None
        self.row.end(GRACE)


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
