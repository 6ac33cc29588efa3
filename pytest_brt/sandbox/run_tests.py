"""Runs tests on a private copy of the project: a pytest process, and another when that one dies."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import BoundedSemaphore, Lock

from pytest_brt.project.layout import is_test_path, module_names
from pytest_brt.sandbox.conditions import Conditions, Limits, PlacedTest, Test, place_tests
from pytest_brt.sandbox.process import Deadlines, ProcessResult, run_process
from pytest_brt.sandbox.results import Item, Reading, items_of
from pytest_brt.sandbox.sandbox import Sandbox, View
from pytest_brt.sandbox.shown import python_folders
from pytest_brt.sandbox.view import PathMap, make_view
from pytest_brt.sandbox.workspace import NoRoom, Scratch, name_full_disk
from pytest_brt.types import Cause, TestRun, Verdict
from pytest_brt.types.cause import CauseCode
from pytest_brt.types.subject import Subject

#: Processes for what is left of some tests, one after the other.
_MOST_PROCESSES = 200
#: Processes and threads of one test.
_MOST_TASKS = 256
#: pytest's exit status for what it cannot do as it was asked.
_USAGE_ERROR = 4
#: What may come of a lack of what all runs share.
_SHORT = (CauseCode.TOO_SLOW, CauseCode.TREE_TOO_SLOW, CauseCode.SHORT, CauseCode.DISK_FULL)
#: The verdict of several items that count as one: the first of these that occurs.
_MOST_SEVERE = (
    Verdict.TAMPERED, Verdict.INVALID, Verdict.CRASH, Verdict.TIMEOUT, Verdict.FAIL,
    Verdict.BROKEN, Verdict.PASS, Verdict.XFAIL, Verdict.SKIP,
)  # fmt: skip

#: What each test did, by its id: one run for each item of a whole file.
Runs = dict[str, tuple[TestRun, ...]]


class Runner:
    """Runs tests of one project; safe to call from many threads."""

    def __init__(
        self, subject: Subject, sandbox: Sandbox, limits: Limits, *, jobs: int = 1
    ) -> None:
        """Start nothing yet; at most as many as `jobs` trees are run at a time."""
        self.subject = subject
        self.sandbox = sandbox.for_folders(python_folders(subject.python, subject.root))
        self.limits = limits
        self._jobs = jobs
        self._turns = BoundedSemaphore(jobs)
        self._alone = Lock()
        with name_full_disk():
            self.scratch = Scratch(self.sandbox.user)

    def close(self) -> None:
        """Remove what was written."""
        self.scratch.close()

    def run(self, tests: Sequence[Test], conditions: Conditions) -> Runs:
        """Run tests on one tree; return what each did.

        A test that was short of time, memory or disk while others ran is run once more, alone, and
        that counts.
        """
        with self.turn():
            runs = self._run_if_room(tests, conditions)
        short = [test for test in tests if any(run.cause.code in _SHORT for run in runs[test.id])]
        is_busy = os.getloadavg()[0] > (os.cpu_count() or 1)
        if not short or not (self._jobs > 1 or is_busy):
            return runs
        with self._turn_alone():
            return runs | self._run_if_room(short, conditions)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until fewer than `jobs` trees are run."""
        with self._turns:
            yield

    @contextmanager
    def _turn_alone(self) -> Iterator[None]:
        """Wait until nothing is run, and have it so."""
        with self._alone:
            for _ in range(self._jobs):
                self._turns.acquire()
        try:
            yield
        finally:
            self._turns.release(self._jobs)

    def run_script(
        self, name: str, view: View, deadlines: Deadlines, order: dict[str, object]
    ) -> ProcessResult:
        """Run one of our scripts in the project's interpreter."""
        return run_process(
            self.sandbox,
            [self.subject.python, f"{view.tools_inside}/start.py", name],
            view,
            deadlines,
            order={**order, "processes": most_tasks(self.sandbox)},
            limits=self.limits.of_processes,
        )

    def _run_if_room(self, tests: Sequence[Test], conditions: Conditions) -> Runs:
        """Run tests; where there is no room for a copy, that is what is known of each."""
        try:
            with name_full_disk():
                return self._run(tests, conditions)
        except NoRoom:
            cause = Cause(code=CauseCode.DISK_FULL, text="the disk was full")
            invalid = TestRun(test="", node="", verdict=Verdict.INVALID, cause=cause)
            return {t.id: (replace(invalid, test=t.id, node=t.node),) for t in tests}

    def _run(self, tests: Sequence[Test], conditions: Conditions) -> Runs:
        last = time.monotonic() + min(self.limits.row_seconds, conditions.seconds or 1e9)
        runs: Runs = {}
        waiting = place_tests(tests)
        while waiting:
            batch = self._run_batch(waiting.pop(0), conditions, last)
            halves = batch.halves() if time.monotonic() < last else []
            waiting = [*halves, *waiting]
            if not halves:
                runs |= batch.runs()
        return {test.id: runs[test.id] for test in tests}

    def _run_batch(self, tests: list[PlacedTest], conditions: Conditions, last: float) -> _Batch:
        """Run tests that lie in one tree, in a new process after each that died."""
        seconds = min(self.limits.seconds, conditions.test_seconds or self.limits.seconds)
        changed = self._changed_modules(conditions)
        batch = _Batch(tests=tests, seconds=seconds, is_patched=bool(changed))
        for _ in range(_MOST_PROCESSES):
            deadlines = Deadlines(
                start=max(self.limits.start_seconds, seconds),
                each=seconds,
                total=max(1.0, last - time.monotonic()),
            )
            result, view = self._run_process(batch, conditions, deadlines)
            if not batch.add(result, view) or time.monotonic() >= last:
                break
        return batch

    def _run_process(
        self, batch: _Batch, conditions: Conditions, deadlines: Deadlines
    ) -> tuple[ProcessResult, View]:
        """Run what is not done yet by one pytest, on a copy of its own."""
        files = {placed.path: placed for placed in batch.tests}
        own = all(placed.test.source is None for placed in batch.tests)
        # Elsewhere than in a root of its own, each copy has another path, and bytecode names it.
        compiles = own and not conditions.changes and self.sandbox.has_own_root
        compiles = compiles and not self.scratch.bytecode.exists()
        with self.scratch.workspace(Path(self.subject.root)) as workspace:
            workspace.write(conditions.changes)
            workspace.write(file for placed in batch.tests for file in placed.files)
            view = make_view(
                self.subject,
                self.sandbox,
                self.scratch,
                workspace,
                seed=conditions.hash_seed,
                compiles=compiles,
            )
            order: dict[str, object] = {
                "folder": view.tree,
                "arguments": [*files, *pytest_options(self.subject, view)],
                "tests": [*batch.files.items()],
                "done": [*batch.reported],
                "reverse": conditions.reverse,
                "isolated": [p.path for p in batch.tests if p.test.source is not None],
                "packages": self.subject.packages,
                "changed": self._changed_modules(conditions),
                "watch": conditions.watch,
            }
            result = self.run_script("plugin", view, deadlines, order)
            if compiles:
                workspace.keep_bytecode(self.scratch.bytecode)
            return result, view

    def _changed_modules(self, conditions: Conditions) -> list[tuple[str, tuple[str, ...]]]:
        """Return path and names of each module of the project that is changed."""
        roots = self.subject.source_roots
        paths = [change.path for change in conditions.changes if not is_test_path(change.path)]
        return [(path, names) for path in paths if (names := module_names(path, roots))]


@dataclass(slots=True, kw_only=True)
class _Batch:
    """What the processes reported of some tests that lie in one tree."""

    tests: Sequence[PlacedTest]
    #: Seconds that a test has.
    seconds: float
    #: Modules of the project are changed.
    is_patched: bool
    #: The items that were begun, and the process that reported of each.
    reported: dict[str, tuple[Item, ProcessResult]] = field(default_factory=dict)
    #: Those that were collected, and not begun yet.
    left: list[str] = field(default_factory=list)
    view: View | None = None
    last: ProcessResult = field(default_factory=ProcessResult)

    @property
    def files(self) -> dict[str, list[str] | None]:
        """The files of the tests, and the nodes wanted below each, None for all of them."""
        files: dict[str, list[str] | None] = {}
        for placed in self.tests:
            names = placed.test.names
            known = files.setdefault(placed.path, [])
            files[placed.path] = [*known, *names] if names and known is not None else None
        return files

    def add(self, result: ProcessResult, view: View) -> bool:
        """Take in what a process reported; return whether another one may do what is left."""
        items = items_of(result.events)
        self.reported |= {node: (item, result) for node, item in items.items()}
        collected = result.first("collected")
        self.left = [n for n in (collected.nodes if collected else ()) if n not in self.reported]
        self.last, self.view = result, view
        return bool(items and self.left)

    def halves(self) -> list[list[PlacedTest]]:
        """Return the tests in two parts, of which one may be well; [] where that is known.

        A file that ends the process, or a conftest that cannot be imported, ends all of them.
        """
        paths = list(self.files)
        folders = {path.rpartition("/")[0] for path in paths}
        is_known = self.last.status == _USAGE_ERROR and len(folders) == 1
        if self.reported or self.last.first("collected") or len(paths) == 1 or is_known:
            return []
        half = frozenset(paths[: len(paths) // 2])
        return [
            [placed for placed in self.tests if placed.path in half],
            [placed for placed in self.tests if placed.path not in half],
        ]

    def runs(self) -> Runs:
        """Return what each test did, by its id; what was not begun was too late."""
        return {placed.test.id: tuple(self._runs_of(placed)) for placed in self.tests}

    def _runs_of(self, placed: PlacedTest) -> list[TestRun]:
        test = placed.test
        runs = [
            self._reading(placed, result).run_of(item)
            for node, (item, result) in self.reported.items()
            if placed.has(node)
        ]
        cause = Cause(code=CauseCode.TREE_TOO_SLOW, text="the tests together did not end in time")
        late = TestRun(test=test.id, node="", verdict=Verdict.TIMEOUT, cause=cause)
        left = filter(placed.has, self.left)
        runs += [replace(late, node=node.partition("::")[2]) for node in left]
        if not runs:
            whole = self._reading(placed, self.last).without_items(placed.path)
            runs = [replace(whole, node=test.node)]
        return [replace(most_severe(runs), node=test.node)] if test.node else runs

    def _reading(self, placed: PlacedTest, result: ProcessResult) -> Reading:
        assert self.view is not None, "a process has reported of the tests"
        return Reading(
            test=placed.test.id,
            path=placed.test.path,
            result=result,
            paths=PathMap(view=self.view, alias=placed.alias),
            seconds=self.seconds,
            is_patched=self.is_patched,
        )


def most_severe(runs: Sequence[TestRun]) -> TestRun:
    """Return the run of several, as of one test with several parameters, that says most ill.

    Its seconds, and the lines that it executed, are those of all.
    """
    worst = min(runs, key=lambda run: _MOST_SEVERE.index(run.verdict))
    lines: dict[str, int] = {}
    for path, executed in (pair for run in runs for pair in run.ran):
        lines[path] = lines.get(path, 0) | int(executed, 16)
    return replace(
        worst,
        seconds=sum(run.seconds for run in runs),
        cpu=sum(run.cpu for run in runs),
        ran=tuple((path, f"{executed:x}") for path, executed in lines.items()),
    )


def pytest_options(subject: Subject, view: View) -> list[str]:
    """Return pytest's options for every run: the project's own, without its selection."""
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    options += ["--rootdir", view.tree, "--confcutdir", view.tree, "--tb=short", "-q"]
    options += ["--continue-on-collection-errors", *subject.pytest_args]
    return options if subject.ini else [*options, "-c", f"{view.tools_inside}/empty.ini"]


def most_tasks(sandbox: Sandbox) -> int:
    """Return how many processes and threads a test may have.

    Where its user has no namespace of its own, the kernel counts those of that user everywhere
    (setrlimit(2)), so these come on top.
    """
    if sandbox.has_own_root and sandbox.user is None:
        return _MOST_TASKS
    user = os.getuid() if sandbox.user is None else sandbox.user
    running = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            if folder.stat().st_uid == user:
                running += sum(1 for _ in (folder / "task").iterdir())
    return running + _MOST_TASKS
