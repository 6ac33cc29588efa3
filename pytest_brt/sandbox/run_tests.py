"""Runs tests on private copies of the project: a pytest process, and another when that one dies."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import BoundedSemaphore, Lock

from pytest_brt.project.layout import is_test_path, module_names
from pytest_brt.sandbox.placing import Test, place_tests
from pytest_brt.sandbox.process import Deadlines, Limits, ProcessResult, run_process
from pytest_brt.sandbox.results import Reading, make_run, tree_too_slow
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.shown import View, make_view
from pytest_brt.sandbox.workspace import NoRoom, Scratch, name_full_disk, private_copy
from pytest_brt.types import CauseCode, FileChange, Subject, TestRun, Verdict

#: Processes for what is left of some tests, one after the other.
_MOST_PROCESSES = 200
#: What may come of a lack of what all runs share.
_SHORT = (CauseCode.TOO_SLOW, CauseCode.TREE_TOO_SLOW, CauseCode.SHORT, CauseCode.DISK_FULL)
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
        with name_full_disk():
            self.scratch = Scratch()
        #: What Python compiled of the unpatched project: see `Workspace.keep_bytecode`.
        self.bytecode = self.scratch.path / "bytecode"

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
        watch: Sequence[str] = (),
    ) -> tuple[TestRun, ...]:
        """Run tests on the tree with `changes` and return what each did, in their order.

        A test with a `node`, or one that could not be collected, has one run; a whole file, and
        `nodes`, have one for each test in it. A test that was short of time, memory or disk while
        others ran is run once more, alone, and that counts.

        Args:
            tests: ids are all different.
            changes: of the project's tree, as a patch makes them.
            hash_seed: PYTHONHASHSEED.
            reverse: the last test is run first.
            test_seconds: wall-clock seconds of one test, where that is to be less than usual.
            seconds: the same of all tests.
            watch: files of which each test is to tell the lines that it executes; tests that
                execute much of them take several times as long.
        """
        each, limits = min(self.limits.seconds, test_seconds), self.limits
        tree = _Tree(
            runner=self,
            changes=tuple(changes),
            order={"reverse": reverse, "watch": watch},
            hash_seed=hash_seed,
            deadlines=Deadlines(
                start=max(limits.start_seconds, each),
                each=each,
                total=min(limits.row_seconds, seconds),
            ),
        )
        with self.turns:
            runs = tree.run(tests)
        short = [test for test in tests if any(run.cause.code in _SHORT for run in runs[test.id])]
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
        deadlines: Deadlines,
        order: Mapping[str, object],
        changes: Sequence[FileChange] = (),
        *,
        seed: int = 0,
    ) -> tuple[ProcessResult, View]:
        """Run one of our scripts in the project's interpreter, on a private copy with changes.

        What the first run of tests without changes compiles is kept for other copies.

        Raises:
            NoRoom: the disk is full.
        """
        root, sandbox = Path(self.subject.root), self.sandbox
        with name_full_disk(), private_copy(root, self.scratch.path, self.bytecode) as copy:
            copy.write(changes)
            if sandbox.user is not None:
                copy.give(sandbox.user)
            own_root = sandbox.has_own_root
            # Elsewhere each copy has another path, and bytecode names it.
            compiles = name == "plugin" and own_root and not (changes or self.bytecode.exists())
            view = make_view(
                self.subject,
                copy,
                sandbox.shown,
                own_root=own_root,
                PYTHONHASHSEED=str(seed),
                PYTHONDONTWRITEBYTECODE="" if compiles else "1",
            )
            result = run_process(
                sandbox,
                [self.subject.python, f"{view.tools}/start.py", name],
                view,
                deadlines,
                order={**order, "folder": view.tree, "packages": self.subject.packages},
                memory_mb=self.limits.memory_mb,
            )
            if compiles:
                copy.keep_bytecode(self.bytecode)
        return result, view


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """A tree, and how tests are run on it."""

    runner: Runner
    changes: tuple[FileChange, ...]
    order: Mapping[str, object]
    hash_seed: int
    deadlines: Deadlines

    def run(self, tests: Sequence[Test]) -> _Runs:
        """Run tests; where there is no room for a copy, that is what is known of each."""
        last = time.monotonic() + self.deadlines.total
        runs: _Runs = {}
        try:
            for group in place_tests(tests):
                runs |= self._run_group(group, last)
        except NoRoom:
            invalid = make_run(Verdict.INVALID, CauseCode.DISK_FULL, "the disk was full")
            return {t.id: [replace(invalid, test=t.id, node=t.node)] for t in tests}
        return runs

    def _run_group(self, tests: Sequence[Test], last: float) -> _Runs:
        """Run tests that lie in one copy, in a new process after each that died.

        Where none was run as it died, which one file may be to blame for, each file has its own.
        """
        done: dict[str, TestRun] = {}
        for _ in range(_MOST_PROCESSES):
            reading = self._run_process(tests, [*done], last)
            runs = reading.runs()
            done |= runs
            left = [node for node in reading.collected or () if node not in done]
            if not (runs and left) or time.monotonic() >= last:
                break
        paths = {test.path for test in tests}
        if reading.has_died and not done and len(paths) > 1 and time.monotonic() < last:
            files = [[test for test in tests if test.path == path] for path in paths]
            alone = [self._run_group(file, last) for file in files]
            return {test: runs for group in alone for test, runs in group.items()}
        late = {node: replace(tree_too_slow(), node=node.partition("::")[2]) for node in left}
        return {test.id: _runs_of(test, done | late, reading) for test in tests}

    def _run_process(self, tests: Sequence[Test], done: Sequence[str], last: float) -> Reading:
        """Run what is not done yet by one pytest, on a copy of its own."""
        runner = self.runner
        roots = runner.subject.source_roots
        paths = [change.path for change in self.changes if not is_test_path(change.path)]
        changed = [(path, name) for path in paths for name in module_names(path, roots)]
        order = {
            **self.order,
            "options": runner.subject.pytest_args,
            "has_settings": bool(runner.subject.ini),
            "tests": [f"{test.path}::{name}" for test in tests for name in test.names],
            "done": done,
            "isolated": [test.path for test in tests if test.source is not None],
            "changed": changed,
        }
        result, view = runner.run_script(
            "plugin",
            replace(self.deadlines, total=max(1.0, last - time.monotonic())),
            order,
            (*self.changes, *(file for test in tests for file in test.files)),
            seed=self.hash_seed,
        )
        return Reading(result=result, view=view, seconds=self.deadlines.each)


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
    lines: dict[str, int] = {}
    for path, executed in (pair for run in runs for pair in run.ran):
        lines[path] = lines.get(path, 0) | int(executed, 16)
    return replace(
        worst,
        seconds=sum(run.seconds for run in runs),
        cpu=sum(run.cpu for run in runs),
        ran=tuple((path, f"{executed:x}") for path, executed in lines.items()),
    )
