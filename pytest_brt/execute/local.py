"""The engine: rows run on this machine, in the sandbox that was chosen."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import SandboxProblem
from pytest_brt.execute.canary import Canary
from pytest_brt.execute.conversation import CellOrder, RowDied, RowNotReady, RowOrder, Setting
from pytest_brt.execute.engine import Observation, Observed, Program
from pytest_brt.execute.events import Event, Places
from pytest_brt.execute.process import Deadlines, Ended
from pytest_brt.execute.row import Limits, Row, RowResult
from pytest_brt.execute.rowrun import RowRun
from pytest_brt.execute.sandbox import Sandbox
from pytest_brt.execute.scratch import Scratch, end_marked
from pytest_brt.execute.slots import Slot, Slots
from pytest_brt.execute.subject import Subject
from pytest_brt.execute.worker import WorkerGone
from pytest_brt.types import FileChange, Verdict

#: Workers that a row gets, one after the other.
ATTEMPTS = 3
#: Seconds for starting Python and importing the project, at least.
STARTUP = 60.0


class LocalEngine:
    """Runs rows in sandboxes; see `Engine`."""

    def __init__(
        self, subject: Subject, sandbox: Sandbox, *, limits: Limits, jobs: int, remark: str = ""
    ) -> None:
        """Start nothing yet; `remark` is for the header."""
        self.subject = subject
        self.level = sandbox.level
        self.forks = sandbox.forks
        self.remark = remark
        self._scratch = Scratch()
        setting = Setting(subject=subject, limits=limits, sandbox=sandbox, scratch=self._scratch)
        self._slots = Slots(setting, jobs=jobs)
        self._canary = Canary(subject)

    def run(self, row: Row) -> RowResult:
        """Run the targets of `row`; see `Engine.run`."""
        begin = time.monotonic()
        with self._slots.lend() as slot:
            run = self._run(slot, row)
            self._canary.look(row, lambda trial: self._run(slot, trial).runs())
        return RowResult(
            runs=self._canary.judge(row, run.runs()),
            notes=tuple(dict.fromkeys(run.notes)),
            seconds=time.monotonic() - begin,
        )

    def _run(self, slot: Slot, row: Row) -> RowRun:
        """Run a row, on another worker if the first one goes."""
        run = RowRun(self._slots.setting, row)
        for attempt in range(ATTEMPTS):
            try:
                run.go_on(self._slots.talk(slot, row.hash_seed))
            except WorkerGone as error:
                self._slots.drop(slot, row.hash_seed)
                run.lose(error)
                if attempt == ATTEMPTS - 1:
                    ours = isinstance(error, RowNotReady)
                    run.give_up(f"the worker {error}", Verdict.INVALID if ours else Verdict.CRASH)
            if len(run.done) == len(row.targets):
                break
        if run.modules and not self._slots.modules:
            self._slots.modules = tuple(run.modules)
        return run

    def observe(self, program: Program) -> Observation:
        """Run the statements of `program`; see `Engine.observe`."""
        seconds = program.statement_seconds
        order = CellOrder(
            deadlines=Deadlines(
                start=STARTUP,
                total=program.total_seconds,
                events={"statement": seconds, "observed": seconds, "evaluable": seconds},
            ),
            work=program.files,
            script="observe",
            spec={"statements": program.statements, "packages": self.subject.packages},
            in_work=True,
        )
        with self._slots.lend() as slot:
            ended = self._cell(slot, order, program.changes)
            return _observation(program, ended, self._slots.setting.places(slot.view.tree))

    def close(self) -> None:
        """End every zygote and remove what was written."""
        self._slots.close()
        if self.level != "ns":
            end_marked(self._scratch.path)
        self._scratch.close()

    def _cell(self, slot: Slot, order: CellOrder, changes: Sequence[FileChange]) -> Ended:
        """Run one cell in a new interpreter, on another worker if the first one goes.

        Raises:
            SandboxProblem: no process could be had for it.
        """
        for attempt in range(2):
            try:
                talk = self._slots.talk(slot, 0)
                talk.begin(RowOrder(changes=changes))
                ended = talk.cell(order)
                talk.end()
                return ended
            except (WorkerGone, RowDied) as error:
                self._slots.drop(slot, 0)
                if attempt and isinstance(error, RowNotReady):
                    raise SandboxProblem(f"the worker {error}") from error
                if attempt:
                    return Ended(events=(), status=1, timed_out=False, tail=str(error), seconds=0.0)
        raise AssertionError("not reached")

    def start(self, order: CellOrder) -> Ended:
        """Run one process of the subject's interpreter on the tree as it is.

        Raises:
            SandboxProblem: no process can be had.
        """
        with self._slots.lend() as slot:
            return self._cell(slot, order, ())

    def _places(self) -> list[Path]:
        """Return where the project's code and tests may be, relative to it."""
        subject = self.subject
        forms = ("{}", "{}.py", "{}/__init__.py")
        names = ["", *(form.format(name) for name in subject.packages for form in forms)]
        places = [Path(start, name) for start in subject.source_roots for name in names]
        return [*places, Path(subject.test_root)]

    def check(self) -> Event:
        """Return what code in the sandbox could do of what it is to be kept from.

        Raises:
            SandboxProblem, SubjectProblem: nothing could be run at all.
        """
        outside = self._scratch.path / "outside"
        outside.mkdir(mode=0o777, exist_ok=True)
        outside.chmod(0o777)
        root = Path(self.subject.root)
        with self._slots.lend() as slot:
            tree = Path(slot.view.tree)
            order = CellOrder(
                deadlines=Deadlines(start=STARTUP, total=STARTUP),
                script="check",
                spec={
                    "outside": str(outside / "x"),
                    "folders": [str(tree / at) for at in self._places() if (root / at).is_dir()],
                    "files": [str(tree / at) for at in self._places() if (root / at).is_file()],
                    "signal": os.getpid(),
                    "hidden": [str(self._scratch.path)],
                },
            )
            ended = self._cell(slot, order, ())
        checked = ended.first("checked")
        if checked is None:
            raise SandboxProblem(f"a first trial failed: {ended.tail.strip() or ended.manner()}")
        return checked


def _observation(program: Program, ended: Ended, places: Places) -> Observation:
    """Return what the statements of a program did, from what its process told."""
    evaluable = {event.index for event in ended.events if event.event == "evaluable"}
    observed = [
        _observed(event, event.index in evaluable, places)
        for event in ended.events
        if event.event == "observed"
    ]
    if len(observed) == len(program.statements):
        how = ""
    elif ended.timed_out:
        spent = program.statement_seconds
        total = ended.seconds >= program.total_seconds
        how = f"timed out after {program.total_seconds if total else spent:g} s"
    else:
        how = ended.manner()
    return Observation(observed=tuple(observed), ended=how)


def _observed(event: Event, evaluable: bool, places: Places) -> Observed:
    value = event.value
    if value is not None:
        text, shown = places.text(value.repr), places.text(value.text)
        value = replace(value, repr=text, text=shown, evaluable=evaluable)
    return Observed(
        index=event.index,
        value=value,
        stdout=places.text(event.stdout),
        stderr=places.text(event.stderr),
        warnings=event.warnings,
        raised=None if event.raised is None else places.raised(event.raised),
        database=event.database,
        seconds=event.seconds,
    )
