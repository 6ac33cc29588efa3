"""Runs tests on a private copy of the project: a pytest process, and another when that one dies."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pytest_brt.project.layout import is_test_path, module_names
from pytest_brt.sandbox.batch import Batch, PlacedTest, place_tests
from pytest_brt.sandbox.conditions import Conditions, Limits, Test
from pytest_brt.sandbox.process import Deadlines, ProcessResult, run_process
from pytest_brt.sandbox.project_view import make_view
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.turns import Turns
from pytest_brt.sandbox.view import View
from pytest_brt.sandbox.workspace import NoRoom, Scratch, telling_of_room
from pytest_brt.types import TestRun, Verdict
from pytest_brt.types.cause import DiskFull, ProcessEnded, Timed, TookTooLong
from pytest_brt.types.subject import Subject

#: Processes for what is left of some tests, one after the other.
_MOST_PROCESSES = 200
#: Processes and threads of one test.
_MOST_TASKS = 256
#: Limits of the machine, or of a user's processes together, by the names of errors.
_SHARED = frozenset({"EAGAIN", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "MemoryError"})
_KILLED = -9

#: What each test did, by its id: one run for each item of a whole file.
Runs = dict[str, tuple[TestRun, ...]]


class Runner:
    """Runs tests of one project; safe to call from many threads."""

    def __init__(
        self, subject: Subject, sandbox: Sandbox, limits: Limits, *, jobs: int = 1
    ) -> None:
        """Start nothing yet; at most as many as `jobs` trees are run at a time."""
        self.subject = subject
        self.sandbox = sandbox
        self.limits = limits
        self.turns = Turns(jobs)
        with telling_of_room():
            self.scratch = Scratch(sandbox.user)

    def close(self) -> None:
        """Remove what was written."""
        self.scratch.close()

    def run(self, tests: Sequence[Test], conditions: Conditions) -> tuple[Runs, frozenset[str]]:
        """Run tests on one tree; return what each did, and the names of trees that were in the way.

        A test that was short of time, memory or disk while others ran is run once more, alone, and
        that counts.
        """
        with self.turns.beside(conditions.name) as met:
            runs = self._run_if_room(tests, conditions)
        short = [test for test in tests if any(map(_is_short, runs[test.id]))]
        if not short or not (met or _is_busy()):
            return runs, frozenset()
        with self.turns.alone():
            return runs | self._run_if_room(short, conditions), frozenset(met)

    def _run_if_room(self, tests: Sequence[Test], conditions: Conditions) -> Runs:
        """Run tests; where there is no room for a copy, that is what is known of each."""
        try:
            with telling_of_room():
                return self._run(tests, conditions)
        except NoRoom:
            return {
                test.id: (
                    TestRun(
                        test=test.id, node=test.node, verdict=Verdict.INVALID, cause=DiskFull()
                    ),
                )
                for test in tests
            }

    def _run(self, tests: Sequence[Test], conditions: Conditions) -> Runs:
        total = min(self.limits.row_seconds, conditions.seconds or self.limits.row_seconds)
        last = time.monotonic() + total
        runs: Runs = {}
        waiting = list(place_tests(tests))
        while waiting:
            batch = self._run_batch(waiting.pop(0), conditions, last)
            halves = batch.halves() if time.monotonic() < last else ()
            waiting = [*map(list, halves), *waiting]
            if not halves:
                runs |= batch.runs(TookTooLong(what=Timed.ROW, seconds=total))
        return {test.id: runs[test.id] for test in tests}

    def _run_batch(self, tests: list[PlacedTest], conditions: Conditions, last: float) -> Batch:
        """Run tests that lie in one tree, in a new process after each that died."""
        seconds = min(self.limits.seconds, conditions.test_seconds or self.limits.seconds)
        batch = Batch(
            tests=tests,
            isolation=self.sandbox.isolation,
            seconds=seconds,
            is_patched=bool(self._changed_modules(conditions)),
        )
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
        self, batch: Batch, conditions: Conditions, deadlines: Deadlines
    ) -> tuple[ProcessResult, View]:
        """Run what is not done yet by one pytest, on a copy of its own."""
        with self.scratch.workspace(Path(self.subject.root)) as workspace:
            workspace.write(conditions.changes)
            workspace.write(file for placed in batch.tests for file in placed.files)
            compiles = self._may_compile(batch, conditions)
            view = make_view(
                self.subject,
                self.sandbox,
                self.scratch,
                workspace,
                seed=conditions.hash_seed,
                compiles=compiles,
            )
            argv = [self.subject.python, f"{view.tools_inside}/start.py", "plugin"]
            result = run_process(
                self.sandbox,
                argv,
                view,
                deadlines,
                order=self._order(batch, conditions, view),
                limits=self.limits.of_processes,
            )
            if compiles:
                workspace.keep_bytecode(self.scratch.bytecode)
            return result, view

    def _may_compile(self, batch: Batch, conditions: Conditions) -> bool:
        """Return whether what a run compiles is kept: that of the project's own code alone.

        Elsewhere than in a root of its own, each copy has another path, and bytecode names it.
        """
        own = all(placed.test.source is None for placed in batch.tests)
        is_first = not self.scratch.bytecode.exists()
        return own and is_first and not conditions.changes and self.sandbox.has_own_root

    def _changed_modules(self, conditions: Conditions) -> list[tuple[str, tuple[str, ...]]]:
        """Return path and names of each module of the project that is changed."""
        roots = self.subject.source_roots
        paths = [change.path for change in conditions.changes if not is_test_path(change.path)]
        return [(path, names) for path in paths if (names := module_names(path, roots))]

    def _order(self, batch: Batch, conditions: Conditions, view: View) -> dict[str, object]:
        """Return the order for `inside/plugin.py`."""
        files = batch.files
        return {
            "folder": view.tree,
            "processes": most_tasks(self.sandbox),
            "arguments": [*files, *pytest_options(self.subject, view)],
            "tests": [*files.items()],
            "done": [*batch.told],
            "reverse": conditions.reverse,
            "isolated": [p.path for p in batch.tests if p.test.source is not None],
            "packages": self.subject.packages,
            "changed": self._changed_modules(conditions),
            "watch": conditions.watch,
        }


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


def _is_short(run: TestRun) -> bool:
    """Return whether a test may have been short of what all runs share."""
    if run.verdict is Verdict.TIMEOUT or isinstance(run.cause, DiskFull):
        return True
    is_killed = isinstance(run.cause, ProcessEnded) and run.cause.status == _KILLED
    return is_killed or getattr(run.cause, "denied", "") in _SHARED


def _is_busy() -> bool:
    """Return whether others want the processors as well."""
    return os.getloadavg()[0] > (os.cpu_count() or 1)
