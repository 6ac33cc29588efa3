"""Runs tests on private copies of the project: a pytest process, and another when that one dies."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import BoundedSemaphore, Lock

from pytest_brt.project.layout import is_test_path, module_names
from pytest_brt.sandbox.placing import Test, place_tests
from pytest_brt.sandbox.process import Limits, ProcessResult, Stop, run_process
from pytest_brt.sandbox.results import Reading, stopped_run
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.shown import View, make_view
from pytest_brt.sandbox.workspace import NoRoom, Scratch, name_full_disk
from pytest_brt.types import CauseCode, FileChange, Subject, TestRun, Verdict
from pytest_brt.types.note import value

#: What may come of a lack of what all runs share.
_SHORT = frozenset({CauseCode.TREE_TOO_SLOW, CauseCode.SHORT})
_DAY = 86400.0
#: The verdict of several items that count as one: the first of these that occurs.
_MOST_SEVERE = (
    Verdict.TAMPERED, Verdict.INVALID, Verdict.CRASH, Verdict.TIMEOUT, Verdict.FAIL,
    Verdict.BROKEN, Verdict.PASS, Verdict.XFAIL, Verdict.SKIP,
)  # fmt: skip

#: What each test did, by its id: one run for each item of a whole file.
_Runs = dict[str, list[TestRun]]


class Runner:
    """Runs tests of one project; safe to call from many threads."""

    def __init__(
        self, subject: Subject, sandbox: Sandbox, limits: Limits, *, jobs: int = 1
    ) -> None:
        """Start nothing yet; at most as many as `jobs` trees are run at a time."""
        self.subject = subject
        self.sandbox = sandbox
        self.limits = limits
        self._jobs = jobs
        #: Who holds one may run a tree.
        self.turns = BoundedSemaphore(jobs)
        self._alone = Lock()
        self.scratch = Scratch()

    def close(self) -> None:
        """Remove what was written."""
        self.scratch.close()

    def run(
        self,
        tests: Sequence[Test],
        changes: Sequence[FileChange] = (),
        *,
        hash_seed: int = 0,
        reverse: bool = False,
        test_seconds: float = math.inf,
        seconds: float = math.inf,
        cpu: float = _DAY,
        watch: Sequence[str] = (),
    ) -> tuple[TestRun, ...]:
        """Run tests on the tree with `changes` and return what each did, in their order.

        A test with a `node`, or one that could not be collected, has one run; a whole file, and
        `nodes`, have one for each test in it. A test that was short of time, memory or disk while
        others ran is run once more, alone, and that counts; not where all tests had so many
        `seconds` and these were over.

        Args:
            tests: ids are all different.
            changes: of the project's tree, as a patch makes them.
            hash_seed: PYTHONHASHSEED.
            reverse: the last test is run first.
            test_seconds: wall-clock seconds of one test, where that is to be less than usual.
            seconds: the same of all tests.
            cpu: seconds of the processor, after which a process runs no further test.
            watch: files of which each test is to tell the lines that it executes; tests that
                execute much of them take several times as long.
        """
        limits = self.limits
        tree = _Tree(
            runner=self,
            changes=tuple(changes),
            order={"reverse": reverse, "watch": watch, "seed": hash_seed, "cpu": cpu},
            limits=replace(
                limits,
                seconds=min(limits.seconds, test_seconds),
                row_seconds=min(limits.row_seconds, seconds),
            ),
        )
        with self.turns:
            runs = tree.run(tests)
        lacks = _SHORT if math.isinf(seconds) else _SHORT - {CauseCode.TREE_TOO_SLOW}
        short = [t for t in tests if any(run.cause.code in lacks for run in runs[t.id])]
        if short and self._jobs > 1:
            with self._turn_alone():
                runs |= tree.run(short)
        return tuple(run for test in tests for run in runs[test.id])

    @contextmanager
    def _turn_alone(self) -> Iterator[None]:
        """Wait until nothing is run, and have it so."""
        with self._alone:
            for _ in range(self._jobs):
                self.turns.acquire()
        try:
            yield
        finally:
            self.turns.release(self._jobs)

    def run_script(
        self,
        name: str,
        limits: Limits,
        order: Mapping[str, object],
        changes: Sequence[FileChange] = (),
    ) -> tuple[ProcessResult, View]:
        """Run one of our scripts in the project's interpreter, on a private copy with changes.

        What the first run of tests without changes compiles is kept for other copies.

        Raises:
            NoRoom: the disk is full.
        """
        subject, sandbox, scratch = self.subject, self.sandbox, self.scratch
        own_root = sandbox.has_own_root
        # Elsewhere each copy has another path, and bytecode names it.
        compiles = (
            name == "plugin" and own_root and not (changes or scratch.bytecode.exists())
        )
        with (
            name_full_disk(),
            scratch.copy_of(Path(subject.root), changes, sandbox.user) as copy,
        ):
            view = make_view(
                subject,
                copy,
                sandbox.shown,
                own_root=own_root,
                PYTHONHASHSEED=str(order.get("seed", 0)),
                PYTHONDONTWRITEBYTECODE="" if compiles else "1",
            )
            argv = [subject.python, f"{view.tools}/start.py", name]
            order = {**order, "folder": view.tree, "packages": subject.packages}
            result = run_process(sandbox, argv, view, limits, order)
            if compiles:
                scratch.keep_bytecode(copy)
        return result, view


@value
class _Tree:
    """A tree, and how tests are run on it."""

    runner: Runner
    changes: tuple[FileChange, ...]
    order: Mapping[str, object]
    limits: Limits

    def run(self, tests: Sequence[Test]) -> _Runs:
        """Run tests; where there is no room for a copy, that is what is known of each.

        Where a process died before any was run, which one file may be to blame for, each file is
        run by itself.
        """
        last = time.monotonic() + self.limits.row_seconds
        groups, runs = place_tests(tests), _Runs()
        while groups:
            group = groups.pop()
            try:
                done, reading = self._run_group(group, last)
            except NoRoom:
                run = stopped_run(Stop.DISK_FULL)
                return {
                    test.id: [replace(run, test=test.id, node=test.node)] for test in tests
                }
            paths = {test.path for test in group}
            if reading.has_died and not done and len(paths) > 1 and time.monotonic() < last:
                groups += [[test for test in group if test.path == path] for path in paths]
            else:
                runs |= {test.id: _runs_of(test, done, reading) for test in group}
        return runs

    def _run_group(
        self, tests: Sequence[Test], last: float
    ) -> tuple[dict[str, TestRun], Reading]:
        """Run tests that lie in one copy, in a new process after each that died."""
        done: dict[str, TestRun] = {}
        while True:
            reading = self._run_process(tests, [*done], last)
            runs = reading.runs()
            done |= runs
            left = [node for node in reading.collected or () if node not in done]
            is_over = reading.result.first("spent") or time.monotonic() >= last
            if not (runs and left) or is_over:
                late = stopped_run(Stop.LATE)
                rest = {name: replace(late, node=name.partition("::")[2]) for name in left}
                return done | rest, reading

    def _run_process(
        self, tests: Sequence[Test], done: Sequence[str], last: float
    ) -> Reading:
        """Run what is not done yet by one pytest, on a copy of its own."""
        subject = self.runner.subject
        paths = [change.path for change in self.changes if not is_test_path(change.path)]
        changed = [
            (path, name)
            for path in paths
            for name in module_names(path, subject.source_roots)
        ]
        order = {
            **self.order,
            "options": subject.pytest_args,
            "has_settings": bool(subject.ini),
            "tests": [f"{test.path}::{name}" for test in tests for name in test.names],
            "done": done,
            "isolated": [test.path for test in tests if test.source is not None],
            "changed": changed,
        }
        result, view = self.runner.run_script(
            "plugin",
            replace(self.limits, row_seconds=max(1.0, last - time.monotonic())),
            order,
            (*self.changes, *(file for test in tests for file in test.files)),
        )
        return Reading(result=result, view=view, seconds=self.limits.seconds)


def _runs_of(test: Test, runs: Mapping[str, TestRun], reading: Reading) -> list[TestRun]:
    """Return what a test did; `reading` tells why it has no item."""
    own = [run for node, run in runs.items() if test.has(node)]
    own = own or [reading.without_items(test.path)]
    own = [replace(most_severe(own), node=test.node)] if test.node else own
    return [replace(run, test=test.id) for run in own]


def most_severe(runs: Sequence[TestRun]) -> TestRun:
    """Return the run of several, as of one test with several parameters, that says most ill.

    Its seconds, and the lines that it executed, are those of all.
    """
    worst = min(runs, key=lambda run: _MOST_SEVERE.index(run.verdict))
    lines: defaultdict[str, int] = defaultdict(int)
    for path, executed in (pair for run in runs for pair in run.ran):
        lines[path] |= int(executed, 16)
    return replace(
        worst,
        seconds=sum(run.seconds for run in runs),
        cpu=sum(run.cpu for run in runs),
        ran=tuple((path, f"{executed:x}") for path, executed in lines.items()),
    )
