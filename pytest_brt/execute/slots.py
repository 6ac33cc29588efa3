"""Places in which rows run: each has a view of the project, and zygotes by hash seed."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.errors import SandboxProblem, SubjectProblem
from pytest_brt.execute.alone import Alone
from pytest_brt.execute.protocol import (
    EngineSetting,
    WorkerGone,
    WorkerSilent,
)
from pytest_brt.execute.scratch import ROOM, end_marked
from pytest_brt.execute.tree import remove_tree
from pytest_brt.execute.turns import Turns
from pytest_brt.execute.views import CopiedView, View
from pytest_brt.execute.zygote import Worker
from pytest_brt.render.levels import not_started_words

#: Zygotes that one slot keeps, each with a hash seed of its own.
KEPT_SEEDS = 2
#: How rows are run in one place, one after the other.
Talk = Worker | Alone


@dataclass(slots=True, kw_only=True)
class Slot:
    """A place in which one row runs at a time."""

    #: What its processes say of their own troubles.
    log: Path
    view: View
    #: Zygotes by hash seed, the one used last at the end.
    workers: dict[int, Worker] = field(default_factory=dict)


class Slots:
    """Lends a place to each row that runs, and keeps its zygotes for the next."""

    def __init__(self, setting: EngineSetting, *, jobs: int) -> None:
        """Start nothing yet; `jobs` rows may run at a time."""
        self.slots: list[Slot] = []
        #: What zygotes are told to load: modules that the unpatched project was seen to import.
        self.modules: tuple[str, ...] = ()
        self.setting = setting
        #: Whose turn it is.
        self.turns = Turns(jobs)
        self._lock = threading.Lock()
        self._free: list[Slot] = []
        self._closed = False
        self._numbers = itertools.count()

    def close(self) -> None:
        """End every zygote; no more are started."""
        with self._lock:
            self._closed = True
            workers = [worker for slot in self.slots for worker in list(slot.workers.values())]
        for worker in workers:
            worker.close()

    @contextmanager
    def lend(self) -> Iterator[Slot]:
        """Lend a place for one row, whose turn it is.

        Raises:
            StoreProblem: there is no room for its files.
        """
        # Namespaces keep what tests write in memory.
        least = 0 if self.setting.sandbox.level == "ns" else ROOM
        with self.setting.scratch.room(least):
            with self._lock:
                slot = self._free.pop() if self._free else None
            if slot is None:
                slot = self._make()
            try:
                yield slot
            except (OSError, SubjectProblem):  # what runs there still holds what was not enough
                for seed in list(slot.workers):
                    self.drop(slot, seed)
                raise
            finally:
                if not self._closed:
                    slot.view.clear()
                with self._lock:
                    self._free.append(slot)

    def talk(self, slot: Slot, seed: int) -> Talk:
        """Return the way to have rows run in a slot with this hash seed, started if need be.

        Raises:
            WorkerGone: the zygote ended.
        """
        if not self.setting.sandbox.forks:
            alone = Alone(slot.view, self.setting, seed)
            self._compile(slot, alone)
            return alone
        worker = slot.workers.pop(seed, None)
        if worker is None:
            while len(slot.workers) >= KEPT_SEEDS:
                self.drop(slot, next(iter(slot.workers)))
            worker = self._start(slot, seed)
        with self._lock:
            closed = self._closed
            if not closed:
                slot.workers[seed] = worker
        if closed:  # meanwhile: rows may still be running then
            worker.close()
            raise SubjectProblem("the run is over")
        if self.modules and not worker.loaded:
            worker.preload(self.modules)
        return worker

    def _start(self, slot: Slot, seed: int) -> Worker:
        if self._closed:
            raise SubjectProblem("the run is over")
        try:
            worker = self._try_to_start(slot, seed)
            try:
                self._compile(slot, worker)
            except WorkerGone:
                worker.close()
                worker = self._try_to_start(slot, seed)
            return worker
        except (WorkerGone, SandboxProblem) as error:
            python, level = self.setting.subject.python, self.setting.sandbox.level
            raise SubjectProblem(not_started_words(python, level, error)) from error

    def _try_to_start(self, slot: Slot, seed: int) -> Worker:
        try:
            return Worker(self.setting, slot.view, seed, slot.log)
        except WorkerSilent:  # it had all the time that there is
            raise
        except WorkerGone:  # once may be chance, as when memory ran out
            return Worker(self.setting, slot.view, seed, slot.log)

    def drop(self, slot: Slot, seed: int) -> None:
        """End the slot's zygote for a hash seed."""
        worker = slot.workers.pop(seed, None)
        if worker is not None:
            worker.close()
            in_use = any(other.workers for other in self.slots)
            if self.setting.sandbox.level != "ns" and not in_use:
                end_marked(self.setting.scratch.path)

    def _make(self) -> Slot:
        folder = self.setting.scratch.path / f"slot-{next(self._numbers)}"
        root = self.setting.subject.root
        if self.setting.sandbox.level == "ns":
            view = View(root)
        else:
            try:
                view = CopiedView(Path(root), folder, self.setting.sandbox.uid)
            except OSError:
                remove_tree(folder)
                raise
        slot = Slot(log=folder.with_suffix(".log"), view=view)
        with self._lock:
            self.slots.append(slot)
        return slot

    def _compile(self, slot: Slot, talk: Talk) -> None:
        """Compile the project's modules once, where they are not compiled yet; run none.

        Raises:
            WorkerGone: the zygote ended.
        """
        if not slot.view.is_untouched:  # what rows left there would be kept too
            return
        subject, tree = self.setting.subject, slot.view.tree
        paths = [
            os.path.normpath(f"{tree}/{root}/{name}")
            for root in subject.source_roots
            for name in subject.packages
        ]
        major, minor = subject.python_version
        compiled = f"__pycache__/__init__.cpython-{major}{minor}.pyc"
        packages = [path for path in map(Path, paths) if (path / "__init__.py").is_file()]
        if not all((package / compiled).is_file() for package in packages):
            talk.compile(paths)
            slot.view.keep()
