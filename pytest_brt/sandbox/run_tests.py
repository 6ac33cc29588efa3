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
from pytest_brt.sandbox.process import Limits, ProcessResult, run_process
from pytest_brt.sandbox.results import read_runs, run_without_items, stopped_run
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.shown import make_view
from pytest_brt.sandbox.workspace import NoRoom, Scratch, name_full_disk
from pytest_brt.types import CauseCode, FileChange, Subject, TestRun, Verdict
from pytest_brt.types.note import value

#: What may come of a lack of what all runs share.
_SHORT = frozenset({CauseCode.TOO_SLOW, CauseCode.SHORT, CauseCode.DISK_FULL})
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
        self.scratch = Scratch(Path(subject.root), sandbox.user)

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

        A test with a `node`, or one that could not be collected, has one run; a whole file has one
        for each test in it. A test that was short of time, memory or disk while others ran is run
        once more, alone, and that counts; not where the time of all tests was over.

        Args:
            tests: ids are all different.
            changes: of the project's tree, as a patch makes them.
            hash_seed: PYTHONHASHSEED.
            reverse: the last test is run first.
            test_seconds: wall-clock seconds of one test, where that is to be less than usual.
            seconds: the same of all tests.
            cpu: seconds of the processor in tests, after which a process runs no further one.
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
        short = [t for t in tests if any(run.cause.code in _SHORT for run in runs[t.id])]
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
    ) -> ProcessResult:
        """Run one of our scripts in the project's interpreter, on a private copy with changes.

        What tests without changes compile is kept for other copies.

        Raises:
            NoRoom: the disk is full.
        """
        subject, sandbox, scratch = self.subject, self.sandbox, self.scratch
        own_root = sandbox.has_own_root
        # Elsewhere each copy has another path, and bytecode names it.
        compiles = own_root and not changes and name == "plugin"
        with name_full_disk(scratch.path.parent), scratch.copied(changes) as copy:
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
            order["path"] = subject.import_path(view.tree)
            result = run_process(sandbox, argv, view, limits, order)
            if compiles:
                scratch.keep_bytecode(copy)
        return result


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
                done, result = self._run_group(group, last)
            except NoRoom:
                run = stopped_run(CauseCode.DISK_FULL)
                return {
                    test.id: [replace(run, test=test.id, node=test.node)] for test in tests
                }
            paths = {test.path for test in group}
            if result.has_died and not done and len(paths) > 1 and time.monotonic() < last:
                groups += [[test for test in group if test.path == path] for path in paths]
            else:
                runs |= _runs_of(group, done, result)
        return runs

    def _run_group(
        self, tests: Sequence[Test], last: float
    ) -> tuple[dict[str, TestRun], ProcessResult]:
        """Run tests that lie in one copy, in a new process after each that died."""
        done: dict[str, TestRun] = {}
        while True:
            result = self._run_process(tests, [*done], last)
            runs = read_runs(result)
            done |= runs
            left = [node for node in result.collected or () if node not in done]
            is_over = result.first("spent") or time.monotonic() >= last
            if not (runs and left) or is_over:
                late = stopped_run(CauseCode.TREE_TOO_SLOW)
                rest = {name: replace(late, node=name.partition("::")[2]) for name in left}
                return done | rest, result

    def _run_process(
        self, tests: Sequence[Test], done: Sequence[str], last: float
    ) -> ProcessResult:
        """Run what is not done yet by one pytest, on a copy of its own."""
        subject = self.runner.subject
        paths = [
            change.path
            for change in self.changes
            if change.content is not None and not is_test_path(change.path)
        ]
        changed = [
            (path, name)
            for path in paths
            for name in module_names(path, subject.source_roots)
        ]
        order = {
            **self.order,
            "options": subject.pytest_args,
            "tests": [f"{test.path}::{test.node}" for test in tests],
            "done": done,
            "isolated": [test.path for test in tests if test.source is not None],
            "changed": changed,
        }
        return self.runner.run_script(
            "plugin",
            replace(self.limits, row_seconds=max(1.0, last - time.monotonic())),
            order,
            (*self.changes, *(file for test in tests for file in test.files)),
        )


def _runs_of(
    tests: Sequence[Test], done: Mapping[str, TestRun], result: ProcessResult
) -> _Runs:
    """Return what tests did, from the runs of their items; `result` tells why one has none."""
    items: defaultdict[tuple[str, str], list[TestRun]] = defaultdict(list)
    for name, run in done.items():
        path, _, node = name.partition("::")
        for wanted in {"", node, node.partition("[")[0]}:
            items[path, wanted].append(run)
    runs = _Runs()
    for test in tests:
        own = items[test.path, test.node] or [run_without_items(result, test.path)]
        own = [most_severe(own)] if test.node else own
        runs[test.id] = [
            replace(run, test=test.id, node=test.node or run.node) for run in own
        ]
    return runs


def most_severe(runs: Sequence[TestRun]) -> TestRun:
    """Return the run of several, as of one test with several parameters, that says most ill.

    Its seconds, and the lines that it executed, are those of all.
    """
    worst = min(runs, key=lambda run: _MOST_SEVERE.index(run.verdict))
    return replace(
        worst,
        seconds=sum(run.seconds for run in runs),
        cpu=sum(run.cpu for run in runs),
        ran=tuple(dict.fromkeys(lines for run in runs for lines in run.ran)),
    )
