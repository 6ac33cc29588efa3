"""The engine: rows run on this machine, in the sandbox that was chosen."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence

from pytest_brt.errors import SandboxProblem, StoreProblem, SubjectProblem
from pytest_brt.execute.engine import (
    Limits,
    Observation,
    Program,
    Row,
    RowResult,
)
from pytest_brt.execute.observation import STARTUP, observation_of, order_for
from pytest_brt.execute.process import Deadlines, Ended, Event
from pytest_brt.execute.protocol import CellOrder, EngineSetting, RowNotReady, RowOrder, WorkerGone
from pytest_brt.execute.rowrun import RowRun
from pytest_brt.execute.sandbox import Sandbox
from pytest_brt.execute.scratch import RoomUsedUp, Scratch, end_marked
from pytest_brt.execute.slots import Slot, Slots
from pytest_brt.execute.views import RowDied
from pytest_brt.render.causes import status_words
from pytest_brt.render.levels import not_started_words
from pytest_brt.types import FileChange, Verdict
from pytest_brt.types.cause import DiskFull, WorkerEnded
from pytest_brt.types.subject import Subject

#: Workers that a row gets, one after the other.
ATTEMPTS = 3


class LocalEngine:
    """Runs rows in sandboxes; see `Engine`."""

    def __init__(
        self, subject: Subject, sandbox: Sandbox, *, limits: Limits, jobs: int = 1
    ) -> None:
        """Start nothing yet; as many as `jobs` rows run at a time."""
        self.subject = subject
        self.level = sandbox.level
        self.forks = sandbox.forks
        #: Why no stronger level could be had.
        self.troubles = sandbox.troubles
        self._scratch = Scratch()
        setting = EngineSetting(
            subject=subject, limits=limits, sandbox=sandbox, scratch=self._scratch
        )
        self._slots = Slots(setting, jobs=jobs)

    def run(self, row: Row) -> RowResult:
        """Run the targets of `row`; see `Engine.run`."""
        begin = time.monotonic()
        with self._slots.turns.beside(row.name) as turn:
            try:
                run = self._run(row)
            except (StoreProblem, SubjectProblem):  # a copy, or an interpreter, wants room as well
                if not turn.beside:
                    raise
                run = RowRun(self._slots.setting, row)
                run.starved |= set(range(len(row.targets)))
        beside: tuple[str, ...] = ()
        if run.starved and turn.beside:
            beside = tuple(sorted(turn.beside))
            with self._slots.turns.alone():
                run.take(self._run(run.starved_row()))
        return RowResult(
            runs=run.runs(),
            notes=tuple(dict.fromkeys(run.notes)),
            beside=beside,
            seconds=time.monotonic() - begin,
        )

    def _run(self, row: Row) -> RowRun:
        """Run a row; what is left of it when the disk is full is told as lost."""
        run = RowRun(self._slots.setting, row)
        try:
            with self._slots.lend() as slot:
                self._run_on(slot, run)
        except RoomUsedUp:
            run.give_up(Verdict.INVALID, DiskFull())
        return run

    def _run_on(self, slot: Slot, run: RowRun) -> None:
        """Run a row in a slot, on another worker if the first one goes."""
        row = run.row
        for attempt in range(ATTEMPTS):
            try:
                run.go_on(self._slots.talk(slot, row.hash_seed))
            except WorkerGone as error:
                self._slots.drop(slot, row.hash_seed)
                run.lose(error)
                if attempt == ATTEMPTS - 1:
                    ours = isinstance(error, RowNotReady)
                    verdict = Verdict.INVALID if ours else Verdict.CRASH
                    run.give_up(verdict, WorkerEnded(said=str(error)))
            if not run.left():
                break
        if run.modules and not self._slots.modules:
            self._slots.modules = tuple(run.modules)

    def observe(self, program: Program) -> Observation:
        """Run the statements of `program`; see `Engine.observe`."""
        order = order_for(program, self.subject, self._slots.setting.limits.seconds)
        with self._slots.turns.beside(""), self._slots.lend() as slot:
            ended = self._cell(slot, order, program.changes)
            places = self._slots.setting.places(slot.view.tree)
            return observation_of(program, ended, places, order.deadlines)

    def close(self) -> None:
        """End every zygote and remove what was written."""
        self._slots.close()
        if self.level != "ns":
            end_marked(self._scratch.path)
        self._scratch.close()

    def _cell(self, slot: Slot, order: CellOrder, changes: Sequence[FileChange]) -> Ended:
        """Run one cell in a new interpreter, on another worker if the first one goes."""
        lost: Exception | None = None
        for _ in range(2):
            try:
                talk = self._slots.talk(slot, 0)
                talk.begin(RowOrder(changes=changes))
                ended = talk.cell(order)
                talk.end()
                return ended
            except (WorkerGone, RowDied) as error:
                self._slots.drop(slot, 0)
                lost = error
        if isinstance(lost, RowNotReady):
            said = not_started_words(self.subject.python, self.level, f"the worker {lost}")
            raise SandboxProblem(said) from lost
        return Ended(events=(), status=1, timed_out=False, tail=str(lost), seconds=0.0)

    def start(self, order: CellOrder) -> Ended:
        """Run one process of the subject's interpreter on the tree as it is.

        Raises:
            SandboxProblem: no process can be had.
        """
        with self._slots.turns.beside(""), self._slots.lend() as slot:
            return self._cell(slot, order, ())

    def check(self) -> Event:
        """Return what code in the sandbox could do of what it is to be kept from.

        Raises:
            SandboxProblem, SubjectProblem: nothing could be run at all.
        """
        outside = self._scratch.path / "outside"
        outside.mkdir(mode=0o777, exist_ok=True)
        outside.chmod(0o777)
        order = CellOrder(
            deadlines=Deadlines(start=STARTUP, total=STARTUP),
            script="check",
            flags=("-I", "-S"),
            spec={
                "outside": str(outside / "x"),
                # It starts in the root of the tree, where no project has such a name.
                "inside": f"brt-{secrets.token_hex(8)}",
                "signal": os.getpid(),
                "hidden": [str(self._scratch.path)],
            },
        )
        ended = self.start(order)
        checked = ended.first("checked")
        if checked is None:
            raise SandboxProblem(
                f"a first trial failed: {ended.tail.strip() or status_words(ended.status)}"
            )
        return checked
