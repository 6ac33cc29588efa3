"""One row, taken through conversations with workers to a verdict for every target."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.execute.common_imports import common_imports
from pytest_brt.execute.engine import Row, TestTarget, worst
from pytest_brt.execute.follower import CHUNK, EVENTS_LIMIT, EVENTS_MOST
from pytest_brt.execute.process import INSIDE, Ended
from pytest_brt.execute.protocol import (
    CellOrder,
    EngineSetting,
    RowNotReady,
    RowOrder,
    WorkerGone,
    WorkerSilent,
    test_deadlines,
)
from pytest_brt.execute.sandbox import read_text
from pytest_brt.execute.slots import Talk
from pytest_brt.execute.touched import touched_files
from pytest_brt.execute.verdict import Scene, missing_nodes, verdicts
from pytest_brt.execute.views import RowDied
from pytest_brt.types import Cause, FileChange, TestRun, Verdict
from pytest_brt.types.cause import NotStarted, RowEnded, Timed, TookTooLong
from pytest_brt.types.subject import Subject

#: Share of its time in which a process that had no end was at work itself: nobody was in its way.
_BUSY = 0.5
#: Limits of the machine, or of a user's processes together, by the names of errors.
_SHARED = frozenset(
    {"EAGAIN", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "ETOOMANYREFS", "MemoryError"}
)
#: How often the rest of a file is tried again after a test that ended its process.
RESTARTS = 200


class RowRun:
    """Takes the targets of a row through conversations, keeping what is done."""

    def __init__(self, setting: EngineSetting, row: Row) -> None:
        self.setting = setting
        self.row = row
        seconds = min(setting.limits.seconds, row.test_seconds or setting.limits.seconds)
        self.limits = replace(setting.limits, seconds=seconds)
        subject = setting.subject
        root, sources = Path(subject.root), subject.source_roots
        # `sys.monitoring` tells cheaply which lines are executed.
        lines = subject.python_version >= (3, 12) or bool(row.watch)
        self.touched = touched_files(root, sources, row.changes, lines=lines)
        #: What each target did, by its place in the row.
        self.done: dict[int, tuple[TestRun, ...]] = {}
        self.notes: list[str] = []
        #: Targets for which the machine may not have had enough.
        self.starved: set[int] = set()
        #: Targets that were running when a row or a worker ended.
        self.blamed: set[int] = set()
        #: Libraries that importing the unpatched project loaded, for the zygote to have, in the
        #: order in which they were: what a library keeps in C may come out torn in another.
        self.modules: dict[str, None] = {}
        #: Seconds for all of it, and when they are over.
        self.seconds = min(setting.limits.row_seconds, row.seconds or setting.limits.row_seconds)
        self.last = time.monotonic() + self.seconds
        #: The target that was running when the worker went.
        self.current: int | None = None
        #: How many processes the kernel had killed for want of memory when the row began.
        self.killed = killed_for_memory()
        #: The targets whose row was being started then.
        self.starting: list[int] = []

    def go_on(self, talk: Talk) -> None:
        """Run what is not done yet, forked from one process where that can be.

        Raises:
            WorkerGone: the worker ended meanwhile; another may go on.
        """
        forks = talk.forkable
        while left := self.left():
            self.starting = left
            forks = forks and self._begin_forked(talk, left)
            if not forks:
                talk.begin(RowOrder(changes=self.row.changes))
            try:
                self._targets(talk, left, forks)
            except RowDied as death:
                forks = False
                self._blame(str(death))
            talk.end()

    def left(self) -> list[int]:
        """Return the places of the targets that are not done yet."""
        return [number for number in range(len(self.row.targets)) if number not in self.done]

    def lose(self, error: WorkerGone) -> None:
        """Take note of the end of a worker: the second time it is the running test's doing.

        One that fell silent was held up by what it ran: that is tried no more.
        """
        if not isinstance(error, WorkerSilent):
            self.notes.append(f"the worker {error}, tried again")
            if not isinstance(error, RowNotReady):
                self._blame(str(error))
            return
        seconds = test_deadlines(self.limits).start
        for number in self.starting if self.current is None else (self.current,):
            if number in self.done:
                continue  # it fell silent only when it was to end the row
            self.starved.add(number)
            what = Timed.IMPORT if self.current is None else Timed.TEST
            self._close(number, Verdict.TIMEOUT, TookTooLong(what=what, seconds=seconds))
        self.current = None

    def give_up(self, verdict: Verdict, cause: Cause) -> None:
        """Report what is not done as lost."""
        for number in self.left():
            self.starved.add(number)
            self._close(number, verdict, cause)

    def _close(self, number: int, verdict: Verdict, cause: Cause) -> None:
        """Report a target of which no more is to be learnt."""
        target = self.row.targets[number]
        run = TestRun(test=target.id, node=target.node, verdict=verdict, cause=cause)
        self.done[number] = (run,)

    def starved_row(self) -> Row:
        """Return the row of those targets for which the machine may not have had enough."""
        targets = tuple(self.row.targets[number] for number in sorted(self.starved))
        return replace(self.row, targets=targets)

    def take(self, again: RowRun) -> None:
        """Take over what the targets of `starved_row` did when they were run again."""
        for place, number in enumerate(sorted(self.starved)):
            self.done[number] = again.done[place]
        self.notes += again.notes

    def runs(self) -> tuple[TestRun, ...]:
        """Return all runs in the order of the targets."""
        return tuple(run for number in sorted(self.done) for run in self.done[number])

    def _blame(self, why: str) -> None:
        """Count the death of a row as the running test's, the second time."""
        number = self.current
        if number is None:
            return
        if number in self.blamed:
            self.starved.add(number)  # who ended it is not known
            self._close(number, Verdict.CRASH, RowEnded(said=why))
        self.blamed.add(number)

    def _begin_forked(self, talk: Talk, group: Sequence[int]) -> bool:
        """Start a row that has imported the project and configured pytest, if it can be."""
        targets = [self.row.targets[number] for number in group]
        folders = dict.fromkeys(_folder(target) for target in targets)
        for imports in (self._imports(targets), ()):
            order = RowOrder(
                kind="fork",
                changes=self.row.changes,
                imports=imports,
                touched=self.touched,
                watch=self.row.watch,
                args=[*folders, *pytest_options(self.setting.subject, talk.view.tree)],
            )
            reply = talk.begin(order)
            if reply.event == "row_ready":
                # What a patch says of libraries is not to decide anything for others.
                if not self.row.changes:
                    self.modules |= dict.fromkeys(reply.modules)
                return True
            if reply.event != "not_importable" or not imports:
                why = reply.text or " ".join(reply.tail.split()[-12:]) or reply.event
                self.notes.append(f"a new interpreter for each test: {why}")
                return False
        return False

    def _imports(self, targets: Sequence[TestTarget]) -> tuple[str, ...]:
        """Return the modules that all the targets load, from their sources."""
        sources = [self._source(target) for target in targets]
        return common_imports(sources, self.setting.subject.packages)

    def _source(self, target: TestTarget) -> str:
        """Return what a target's process imports, as the source of a module."""
        return self._content(target).decode("utf-8", "replace")

    def _content(self, target: TestTarget) -> bytes:
        """Return the file of a target as its process sees it; nothing where there is none."""
        for file in (*target_files(target), *self.row.changes):
            if file.path == target.path:
                return file.content or b""
        path = Path(self.setting.subject.root, target.path)
        return path.read_bytes() if path.is_file() else b""

    def _targets(self, talk: Talk, numbers: Sequence[int], fork: bool) -> None:
        for number in numbers:
            if time.monotonic() > self.last:
                late = TookTooLong(what=Timed.ROW, seconds=self.seconds)
                self.give_up(Verdict.TIMEOUT, late)
                return
            self.current = number
            self.done[number] = self._target(talk, number, fork)
        self.current = None

    def _target(self, talk: Talk, number: int, fork: bool) -> tuple[TestRun, ...]:
        """Run one target, going on with the rest of a file after a test that ended all."""
        target = self.row.targets[number]
        scene = Scene(
            target=target,
            places=self.setting.places(talk.view.tree),
            level=self.setting.sandbox.level,
            seconds=self.limits.seconds,
            touched=bool(self.touched),
            watch=bool(self.row.watch),
        )
        runs: list[TestRun] = []
        skip: tuple[str, ...] = ()
        told = 0
        for _ in range(RESTARTS):
            gone = talk.cell(self._order(talk, target, skip, fork))
            found = verdicts(scene, gone)
            runs += found
            fails = not all(map(_passes, found))
            lacked = fails and (killed_for_memory() != self.killed or pipes_are_short())
            if lacked or _is_starved(gone) or any(map(_is_short, found)):
                self.starved.add(number)
            left = missing_nodes(gone)
            if gone.timed_out and time.monotonic() >= self.last:
                return tuple(self._row_over(target, runs, left))
            if target.node or not left or not gone.begun:
                break
            told += gone.told
            if told > EVENTS_LIMIT or len(runs) > EVENTS_MOST:
                break
            skip = (*skip, *gone.begun)
        if target.node and len(runs) > 1:
            return (replace(worst(runs), node=target.node),)
        return tuple(runs)

    def _row_over(
        self, target: TestTarget, runs: Sequence[TestRun], left: Sequence[str]
    ) -> Iterator[TestRun]:
        """Yield what a target did before the time of the row was over, and what it did not do.

        The last of its runs was broken off for that, and the tests that are `left` never began.
        """
        late = TookTooLong(what=Timed.ROW, seconds=self.seconds)
        yield from runs[:-1]
        yield replace(runs[-1], verdict=Verdict.TIMEOUT, cause=late)
        for node in left:
            name = node.partition("::")[2] or node
            yield TestRun(test=target.id, node=name, verdict=Verdict.TIMEOUT, cause=late)

    def _order(self, talk: Talk, target: TestTarget, skip: Sequence[str], fork: bool) -> CellOrder:
        deadlines = test_deadlines(self.limits)
        left = max(1.0, self.last - time.monotonic())
        order = CellOrder(
            deadlines=replace(deadlines, total=min(deadlines.total, left)),
            files=target_files(target),
            target=target.path,
        )
        if fork:
            return replace(order, args=target.arguments, skip=skip, first=target.first)
        options = pytest_options(self.setting.subject, talk.view.tree)
        spec: dict[str, object] = {
            "args": [*target.arguments, *options],
            "packages": self.setting.subject.packages,
            "target": target.path,
            "skip": skip,
            "first": target.first,
            "root": talk.view.tree,
            "touched": self.touched,
            "watch": self.row.watch,
        }
        return replace(order, script="run_tests", spec=spec)


def _is_starved(ended: Ended) -> bool:
    """Say whether a process may have got too little of its time, or of the machine's memory.

    Where there is too little memory, the kernel or a daemon kills whom it likes.
    """
    if ended.timed_out:
        return ended.cpu < _BUSY * ended.seconds
    return ended.status == -signal.SIGKILL


def killed_for_memory() -> int:
    """Return how many processes of the machine the kernel has killed for want of memory."""
    lines = read_text(Path("/proc/vmstat")).splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def pipes_are_short() -> bool:
    """Return whether all pipes of our user hold so much that new ones may hold little (pipe(7)).

    Root's never are, whatever those of the user are that its rows run as.
    """
    if sys.platform != "linux":
        return False
    reader, writer = os.pipe()
    try:
        return fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ) < CHUNK
    finally:
        os.close(reader)
        os.close(writer)


def _passes(run: TestRun) -> bool:
    return run.verdict is Verdict.PASS


def _is_short(run: TestRun) -> bool:
    """Say whether a test failed for want of something that all rows share."""
    denied = getattr(run.cause, "denied", "")
    return denied in _SHARED or isinstance(run.cause, NotStarted)


def _folder(target: TestTarget) -> str:
    return target.path.rpartition("/")[0] or "."


def target_files(target: TestTarget) -> tuple[FileChange, ...]:
    """Return the files to put into the tree for a target, if it brings some."""
    if target.source is None:
        return target.support
    content = target.source.encode("utf-8", "surrogatepass")
    return (*target.support, FileChange(path=target.path, content=content))


def pytest_options(subject: Subject, tree: str) -> list[str]:
    """Return pytest's options for every run: the project's own, without its selection."""
    options = [
        "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--rootdir", tree,
        "--confcutdir", tree,
        "--tb=short", "-q", *subject.pytest_args,
    ]  # fmt: skip
    if not subject.ini:
        options += ["-c", str(INSIDE / "empty.ini")]
    return options
