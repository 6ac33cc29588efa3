"""The engine: rows forked from a zygote that has pytest loaded, tests forked from rows."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.errors import SandboxProblem, SubjectProblem
from pytest_brt.execute.canary import Canary
from pytest_brt.execute.conversation import CellOrder, Conversation, RowDied, Setting
from pytest_brt.execute.environment import inner_environment
from pytest_brt.execute.events import Event
from pytest_brt.execute.observation import Observation, Program
from pytest_brt.execute.plain import STARTUP, observation, statement_deadlines
from pytest_brt.execute.process import Deadlines, Ended
from pytest_brt.execute.row import Limits, Row, RowResult
from pytest_brt.execute.rowrun import RowRun
from pytest_brt.execute.sandbox import INSIDE, SCRATCH, Sandbox
from pytest_brt.execute.scratch import Scratch
from pytest_brt.execute.subject import Subject
from pytest_brt.execute.views import CopiedView, MountedView, View
from pytest_brt.execute.worker import Worker, WorkerGone
from pytest_brt.types import FileChange

#: Oldest pytest whose collection can be forked; below it each test gets a new process.
FORKABLE = (6, 2)
#: Workers that a row gets, one after the other.
ATTEMPTS = 3
#: Zygotes that one slot keeps, each with a hash seed of its own.
KEPT_SEEDS = 2
WARM_SECONDS = 300.0
#: Set where the user does not: threads of libraries would stand in the way of forking.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(slots=True, kw_only=True)
class _Slot:
    """A place in which one row runs at a time."""

    folder: Path
    view: View
    #: Zygotes by hash seed, the one used last at the end.
    workers: dict[int, Worker] = field(default_factory=dict)
    #: Zygotes that have been told what to load.
    loaded: set[int] = field(default_factory=set)


class ForkEngine:
    """Runs rows in sandboxes; see `Engine`."""

    def __init__(
        self, subject: Subject, sandbox: Sandbox, *, limits: Limits, jobs: int, remark: str = ""
    ) -> None:
        """Start nothing yet; `remark` is for the header."""
        self.subject = subject
        self.level = sandbox.level
        self.remark = remark
        self._sandbox = sandbox
        self._setting = Setting(
            subject=subject, limits=limits, level=sandbox.level, processes=sandbox.processes
        )
        self._room = threading.BoundedSemaphore(max(1, jobs))
        self._lock = threading.Lock()
        self._free: list[_Slot] = []
        self._slots: list[_Slot] = []
        self._closed = False
        self._numbers = itertools.count()
        self._modules: tuple[str, ...] = ()
        self._scratch = Scratch()
        self._canary = Canary(subject)

    def run(self, row: Row) -> RowResult:
        """Run the targets of `row`; see `Engine.run`."""
        begin = time.monotonic()
        with self._slot() as slot:
            run = self._run(slot, row)
            self._canary.look(row, lambda trial: self._run(slot, trial).runs())
        return RowResult(
            runs=self._canary.judge(row, run.runs()),
            notes=tuple(dict.fromkeys(run.notes)),
            seconds=time.monotonic() - begin,
        )

    def _run(self, slot: _Slot, row: Row) -> RowRun:
        """Run a row, on another worker if the first one goes."""
        run = RowRun(self._setting, row)
        for attempt in range(ATTEMPTS):
            try:
                worker = self._worker(slot, row.hash_seed)
                run.go_on(worker, slot.view, forkable=self._is_forkable(worker))
            except WorkerGone as error:
                self._drop(slot, row.hash_seed)
                run.lose(error)
                if attempt == ATTEMPTS - 1:
                    run.give_up(f"the worker {error}")
            if run.is_done:
                break
        if run.modules and not self._modules:
            self._modules = tuple(sorted(run.modules))
        return run

    def observe(self, program: Program) -> Observation:
        """Run the statements of `program`; see `Engine.observe`."""
        order = CellOrder(
            deadlines=statement_deadlines(program),
            work=program.files,
            script=str(INSIDE / "observe.py"),
            spec={"statements": program.statements, "packages": self.subject.packages},
            in_work=True,
        )
        with self._slot() as slot:
            ended = self._cell(slot, order, program.changes)
            return observation(program, ended, self._setting.places(slot.view.tree))

    def close(self) -> None:
        """End every zygote and remove what was written."""
        with self._lock:
            self._closed = True
            workers = [worker for slot in self._slots for worker in list(slot.workers.values())]
        for worker in workers:
            worker.close()
        if self.level != "ns":
            self._scratch.end_processes()
        self._scratch.close()

    def _cell(self, slot: _Slot, order: CellOrder, changes: Sequence[FileChange]) -> Ended:
        """Run one cell in a new interpreter, on another worker if the first one goes."""
        for attempt in range(2):
            try:
                talk = Conversation(self._worker(slot, 0), slot.view, self._setting)
                talk.expect(talk.begin(kind="exec", changes=changes))
                ended = talk.cell(order)
                talk.end()
                return ended
            except (WorkerGone, RowDied) as error:
                self._drop(slot, 0)
                if attempt:
                    return Ended(events=(), status=1, timed_out=False, tail=str(error), seconds=0.0)
        raise AssertionError("not reached")

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
            script=str(INSIDE / "check.py"),
            spec={
                "outside": str(outside / "x"),
                "root": self._tree_of_first_slot(),
                "signal": os.getpid(),
                "hidden": [str(self._scratch.path)],
            },
        )
        with self._slot() as slot:
            ended = self._cell(slot, order, ())
        for event in ended.events:
            if event.event == "checked":
                return event
        raise SandboxProblem(f"a first trial failed: {ended.tail.strip() or ended.manner()}")

    def _tree_of_first_slot(self) -> str:
        with self._slot() as slot:
            return slot.view.tree

    def _is_forkable(self, worker: Worker) -> bool:
        """Return whether rows can be forked: pytest can, and is not the subject itself."""
        ready = worker.ready
        return self._may_fork() and not ready.in_tree and ready.threads == 1

    def _may_fork(self) -> bool:
        return self.subject.pytest_version >= FORKABLE and self._sandbox.forks

    def _worker(self, slot: _Slot, seed: int) -> Worker:
        """Return the slot's zygote for a hash seed, started if need be."""
        worker = slot.workers.pop(seed, None)
        if worker is None:
            while len(slot.workers) >= KEPT_SEEDS:
                self._drop(slot, next(iter(slot.workers)))
            worker = self._start(slot, seed)
        self._keep(slot, seed, worker)
        if self._modules and seed not in slot.loaded:
            slot.loaded.add(seed)
            worker.send({"op": "preload", "names": self._modules})
            worker.reply(WARM_SECONDS)
        return worker

    def _keep(self, slot: _Slot, seed: int, worker: Worker) -> None:
        """Lay a zygote by.

        Raises:
            SubjectProblem: the engine was closed meanwhile; rows may still be running then.
        """
        with self._lock:
            closed = self._closed
            if not closed:
                slot.workers[seed] = worker
        if closed:
            worker.close()
            raise SubjectProblem("the run is over")

    def _start(self, slot: _Slot, seed: int) -> Worker:
        if self._closed:
            raise SubjectProblem("the run is over")
        tree = slot.view.tree
        mounted = self.level == "ns"
        env = inner_environment(
            tree=tree,
            source_roots=self.subject.source_roots,
            python=self.subject.python,
            home=f"{SCRATCH}/tmp" if mounted else slot.view.row_folders.home,
            scratch=f"{SCRATCH}/tmp" if mounted else slot.view.row_folders.tmp,
            hash_seed=seed,
            extra=dict(self.subject.env),
        )
        env.update(self._scratch.environment())
        for name in ONE_THREAD:
            env.setdefault(name, "1")
        specification = self._sandbox.specification(
            self.subject, tree=tree, writable=[str(slot.folder), "/dev/shm"], env=env
        )
        config = self._sandbox.configuration(self.subject, tree=tree, fork=self._may_fork())
        try:
            worker = Worker(specification, config, slot.folder / "log")
        except WorkerGone:  # once may be chance, as when memory ran out
            try:
                worker = Worker(specification, config, slot.folder / "log")
            except WorkerGone as error:
                raise SubjectProblem(
                    f"{self.subject.python!r} ended before it was ready: {error}"
                    " (try --brt-sandbox process, or another --brt-python)"
                ) from error
        if not worker.ready.shielded and self.level == "ns":
            worker.close()
            raise SandboxProblem("no process namespace of its own (try --brt-sandbox landlock)")
        return worker

    def _drop(self, slot: _Slot, seed: int) -> None:
        worker = slot.workers.pop(seed, None)
        slot.loaded.discard(seed)
        if worker is not None:
            worker.close()
            if self.level != "ns" and not any(other.workers for other in self._slots):
                self._scratch.end_processes()

    @contextmanager
    def _slot(self) -> Iterator[_Slot]:
        """Lend a place for one row."""
        with self._room:
            with self._lock:
                slot = self._free.pop() if self._free else None
            if slot is None:
                slot = self._make_slot()
            try:
                yield slot
            finally:
                with self._lock:
                    self._free.append(slot)

    def _make_slot(self) -> _Slot:
        folder = self._scratch.path / f"slot-{next(self._numbers)}"
        view: View
        if self.level == "ns":
            folder.mkdir()
            view = MountedView(self.subject.root)
        else:
            view = CopiedView(Path(self.subject.root), folder, self._sandbox.uid)
        slot = _Slot(folder=folder, view=view)
        with self._lock:
            self._slots.append(slot)
        self._warm(slot)
        return slot

    def _warm(self, slot: _Slot) -> None:
        """Compile the project's modules once, where they are not compiled yet."""
        if not lacks_bytecode(self.subject):
            return
        talk = Conversation(self._worker(slot, 0), slot.view, self._setting)
        order = CellOrder(
            deadlines=Deadlines(start=WARM_SECONDS, total=WARM_SECONDS),
            script=str(INSIDE / "warm.py"),
            spec={"packages": self.subject.packages},
            keep=True,
            env=(("PYTHONDONTWRITEBYTECODE", ""),),
        )
        try:
            talk.expect(talk.begin(kind="exec", changes=(), keep=True))
            talk.cell(order)
            talk.end()
            slot.view.keep()
        except (WorkerGone, RowDied):
            self._drop(slot, 0)


def lacks_bytecode(subject: Subject) -> bool:
    """Return whether a package of the project was never compiled by its interpreter."""
    major, minor = subject.python_version
    for root in subject.source_roots:
        for name in subject.packages:
            folder = Path(subject.root, root, name)
            cached = folder / "__pycache__" / f"__init__.cpython-{major}{minor}.pyc"
            if (folder / "__init__.py").is_file() and not cached.is_file():
                return True
    return False
