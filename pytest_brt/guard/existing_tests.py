"""The project's own tests: chosen on the unpatched tree, and those that a patch makes fail.

The whole suite is run with each patch where it fits into the time for one. Else lines are watched,
and those tests come first that execute what the patches change.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.guard.changes import Touched
from pytest_brt.guard.suite import ExistingTest, TestFiles, read_tests
from pytest_brt.once import Once
from pytest_brt.render.words import count
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner, most_severe
from pytest_brt.store import write_text
from pytest_brt.types import (
    CauseCode,
    ChosenBy,
    FailsBefore,
    FileChange,
    Guarded,
    Note,
    Regression,
    TestRun,
    Verdict,
)

#: How many times the seconds of one patch the search on the unpatched tree may take.
LOOKING = 4.0
#: Verdicts that mean that something is wrong: what is left out on purpose, or expected to fail, is
#: not.
_BROKEN = (Verdict.FAIL, Verdict.BROKEN, Verdict.TIMEOUT, Verdict.CRASH)
#: Seconds that each test takes besides its own: reporting it.
_LEAST = 0.001
#: How many times as long as its CPU seconds what runs may take, and wall-clock seconds in any case.
_MOST_CROWDED, _LEAST_WALL = 4.0, 5.0
#: Test files that are run first on the unpatched tree.
_FIRST_FILES = 8
#: From this version on it costs nothing to watch lines.
_WATCHES_CHEAPLY = (3, 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineTest:
    """What an existing test does on the unpatched tree, all of its parameters together."""

    path: str
    #: Below its file, without parameters: "TestX::test_y".
    node: str
    run: TestRun

    @property
    def name(self) -> str:
        """The test as pytest names it."""
        return f"{self.path}::{self.node}"

    @property
    def seconds(self) -> float:
        """CPU seconds, or wall-clock ones where the process did not end by itself."""
        return _LEAST + (self.run.cpu or self.run.seconds)

    @property
    def executed(self) -> Mapping[str, int]:
        """By path, the lines of the watched files that it executes, as the bits of a number."""
        return {path: int(lines, 16) for path, lines in self.run.ran}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The existing tests that every patch of a pool is tried with."""

    tests: tuple[BaselineTest, ...] = ()
    #: Those that do not pass on the unpatched tree, and so can say nothing.
    failing: tuple[FailsBefore, ...] = ()
    #: Whether they are all that pass, and whether it was seen which lines they execute.
    is_whole: bool = False
    is_watched: bool = False
    #: Why there are no more of them.
    shortfalls: tuple[Note, ...] = ()
    #: Tests that the project has, as far as is known.
    total: int = 0

    @property
    def targets(self) -> tuple[Test, ...]:
        """The tests as the engine runs them."""
        return targets_of(self.tests)

    @property
    def seconds(self) -> float:
        """How long they took on the unpatched tree."""
        return sum(test.seconds for test in self.tests)

    def reaching(self, touched: Touched) -> int | None:
        """Return how many of them run what a patch changes; None when that was not seen."""
        if not self.is_watched:
            return None
        return sum(touched.is_run(test.executed) for test in self.tests)


class Guard:
    """Finds the regressions of patches of one project; safe to call from many threads.

    What the tests do on the unpatched tree is found out once for all patches, and all patches of a
    pool are compared on the same tests.
    """

    def __init__(self, engine: Runner) -> None:
        self.root = Path(engine.subject.root)
        self.files = TestFiles(self.root)
        self._engine = engine
        #: What files do on the unpatched tree, by files, and what is watched.
        self._known: Once[tuple[frozenset[str], tuple[str, ...]], tuple[TestRun, ...]] = Once()
        #: Whether tests pass on the unpatched tree in another order.
        self._again: Once[str, bool] = Once()

    def near(self, touched: Touched, most: int) -> tuple[Test, ...]:
        """Return tests of the nearest files, those first that speak of what is touched."""
        texts = self.files.texts
        paths = self.files.nearest([touched])[:8]
        tests = [t for p in paths for t in read_tests(p, texts[p], self.files.collected)]
        tests.sort(key=lambda test: not any(name in test.source for name in touched.names))
        return targets_of(tests[:most])

    def check(
        self,
        changes: tuple[FileChange, ...],
        touched: Touched,
        *,
        allowance: float,
        hints: Iterable[str] = (),
    ) -> Guarded:
        """Choose tests for one patch, run them, and return those that it makes fail.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        chosen = self.select((touched,), allowance=allowance, hints=hints)
        runs = self._engine.run(chosen.targets, changes)
        return self.judge(changes, touched, chosen, runs)

    def select(
        self,
        pool: Sequence[Touched],
        *,
        allowance: float,
        hints: Iterable[str] = (),
        say: Callable[[str], None] = lambda _: None,
    ) -> Selection:
        """Choose the tests that are to be run with each patch of a pool.

        They take `allowance` seconds together; the search on the unpatched tree may take `LOOKING`
        times as long, and where the suite is cut as long again. `hints` are names that the
        candidate tests use; `say` is told what is done.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        files = self.files.nearest(pool, hints)
        changed = tuple(sorted({path for touched in pool for path in touched.files}))
        is_cheap = self._engine.subject.python_version >= _WATCHES_CHEAPLY
        chosen = self._choose(files, changed if is_cheap else (), pool, allowance)
        if chosen.is_whole or is_cheap or not chosen.tests:
            return chosen
        say("the existing tests take too long to be run with each patch: watching their lines")
        return self._choose(files, changed, pool, allowance)

    def _choose(
        self,
        files: Sequence[str],
        watch: tuple[str, ...],
        pool: Sequence[Touched],
        allowance: float,
    ) -> Selection:
        """Choose tests from what files do on the unpatched tree, each run once for all that ask.

        Where not all can be afforded, those come first that run what a patch changes.
        """
        key = (frozenset(files), watch)
        runs = self._known.get(key, lambda: self._run_files(files, watch, allowance))
        timely = [run for run in runs if run.cause.code is not CauseCode.TREE_TOO_SLOW]
        known = self._tests(timely)
        passing = [test for test in known if test.run.verdict is Verdict.PASS]
        failing = [test for test in known if test.run.verdict in _BROKEN]
        lost = [run for run in timely if not run.node and run.cause.is_uncollected]
        is_whole = len(timely) == len(runs) and {run.test for run in runs} == set(files)
        is_whole &= sum(test.seconds for test in passing) <= allowance
        if not is_whole:
            is_far = {t.name: not any(c.is_run(t.executed) for c in pool) for t in passing}
            passing.sort(key=lambda test: is_far[test.name])
        shortfalls: list[Note] = []
        if lost:
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            text = f"{lost[0].test}{more} cannot be collected on the unpatched tree"
            shortfalls.append(Note(code="not-collected", text=text))
        if not is_whole:
            text = f"the budget of {allowance:g} s a patch allows no more"
            shortfalls.append(Note(code="budget-spent", text=text))
        if failing:
            left = (
                "all existing tests near it"
                if not passing
                else count(len(failing), "existing test")
            )
            text = f"left out, failing without a patch: {left}"
            shortfalls.append(Note(code="fail-before", text=text))
        named = [*((run.test, run) for run in lost), *((test.name, test.run) for test in failing)]
        counts = {path: self.files.count(path) for path in files}
        counts |= Counter(test.path for test in known)
        return Selection(
            tests=tuple(passing if is_whole else _affordable(passing, allowance)),
            failing=tuple(
                FailsBefore(test=name, cause=run.cause, raised=run.raised_briefly)
                for name, run in named
            ),
            is_whole=is_whole,
            is_watched=bool(watch),
            shortfalls=tuple(shortfalls),
            total=sum(counts.values()),
        )

    def _run_files(
        self, files: Sequence[str], watch: tuple[str, ...], allowance: float
    ) -> tuple[TestRun, ...]:
        """Run files on the unpatched tree, nearest first, as far as the time allows.

        pytest runs nothing before it has collected all files, which takes minutes of a large suite:
        so a few files come first, then twice as many.
        """
        seconds = max(_LEAST_WALL, LOOKING * allowance * _MOST_CROWDED)
        targets = [Test(id=path, path=path) for path in (files if allowance else ())]
        runs: list[TestRun] = []
        end, begin, size = time.monotonic() + seconds, 0, _FIRST_FILES
        while begin < len(targets) and (left := end - time.monotonic()) > 0:
            group = targets[begin : begin + size]
            runs += self._engine.run(group, seconds=left, watch=watch)
            begin, size = begin + size, 2 * size
        return tuple(runs)

    def _tests(self, runs: Iterable[TestRun]) -> list[BaselineTest]:
        """Return what each test did, its parameters together; what is no test is left out."""
        tests: list[BaselineTest] = []
        for run in _results(runs).values():
            if run.node and self.files.collected.has_node(run.node):
                # Thousands with all that is known of them would fill the memory.
                brief = replace(run, output="", raised=run.raised_briefly)
                node = run.node.partition("[")[0]
                tests.append(BaselineTest(path=run.test, node=node, run=brief))
        return tests

    def judge(
        self,
        changes: tuple[FileChange, ...],
        touched: Touched,
        chosen: Selection,
        runs: Sequence[TestRun],
    ) -> Guarded:
        """Return which of the chosen tests a patch makes fail, from their runs with its changes."""
        results = _results_of(chosen.tests, runs)
        failed = [t for t in chosen.tests if t.name in results and _is_broken(results[t.name])]
        confirmed = self._confirm(changes, failed)
        reached = chosen.reaching(touched)
        by = ChosenBy.COVERAGE if reached else ChosenBy.NAMES
        return Guarded(
            ran=sum(run.verdict is not Verdict.INVALID for run in results.values()),
            total=chosen.total,
            reached=reached,
            by=ChosenBy.ALL if chosen.is_whole else by,
            regressions=tuple(
                Regression(
                    test=name,
                    verdict=run.verdict,
                    cause=run.cause,
                    raised=run.raised_briefly,
                    line=_line(name, run),
                )
                for name, run in results.items()
                if name in confirmed
            ),
            failing=chosen.failing,
            shortfalls=chosen.shortfalls,
            seconds=sum((run.seconds for run in results.values()), 0.0),
        )

    def _confirm(
        self, changes: tuple[FileChange, ...], failed: Sequence[BaselineTest]
    ) -> frozenset[str]:
        """Return those that fail again, last first, and then pass without the changes.

        Those that pass the second time are run a third time, each alone, which decides.
        """
        again = self._run_again(changes, failed)
        for test in failed:
            if not _is_broken(again.get(test.name)):
                again |= self._run_again(changes, [test])
        still = {test.name: test for test in failed if _is_broken(again.get(test.name))}

        def passing(names: Sequence[str]) -> list[bool]:
            runs = self._run_again((), [still[name] for name in names])
            return [name in runs and runs[name].verdict is Verdict.PASS for name in names]

        before = zip(still, self._again.get_all(still, passing), strict=True)
        return frozenset(name for name, passes in before if passes)

    def _run_again(
        self, changes: tuple[FileChange, ...], tests: Sequence[BaselineTest]
    ) -> dict[str, TestRun]:
        """Return what tests do in reverse order, under another hash seed."""
        runs = self._engine.run(targets_of(tests), changes, hash_seed=1, reverse=True)
        return _results_of(tests, runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A choice as it is kept between runs, and what decided it."""

    key: str
    selection: Selection


def keep_selection(file: Path | None, key: str, work: Callable[[], Selection]) -> Selection:
    """Return the choice that is kept in a file for `key`, or make it and keep it there."""
    if file is not None:
        with suppress(OSError, StoreProblem):  # it may vanish
            kept = from_json(read_bounded(file), _Kept)
            if kept.key == key:
                return kept.selection
    selection = work()
    if file is not None:
        with suppress(StoreProblem):  # what is not kept costs the next run time
            write_text(file, to_json(_Kept(key=key, selection=selection)))
    return selection


def _line(name: str, run: TestRun) -> int:
    """Return the line of its file at which a test fails, 0 where it fails elsewhere."""
    frames = run.raised.frames if run.raised else ()
    lines = [frame.line for frame in frames if name.startswith(f"{frame.path}::")]
    return lines[-1] if lines else 0


def targets_of(tests: Iterable[BaselineTest | ExistingTest]) -> tuple[Test, ...]:
    """Return tests as the engine runs them: those of a file together, called as the file."""
    nodes: dict[str, list[str]] = {}
    for test in tests:
        nodes.setdefault(test.path, []).append(test.node)
    return tuple(Test(id=path, path=path, nodes=tuple(group)) for path, group in nodes.items())


def _affordable(tests: Iterable[BaselineTest], seconds: float) -> Iterator[BaselineTest]:
    """Yield the first tests that can be afforded; those come last that take half of the time."""
    left = seconds
    for test in sorted(tests, key=lambda test: test.seconds > seconds / 2):
        if test.seconds <= left:
            left -= test.seconds
            yield test


def _is_broken(run: TestRun | None) -> bool:
    """Return whether a test ran and something is wrong."""
    return run is not None and run.verdict in _BROKEN


def _results(runs: Iterable[TestRun]) -> dict[str, TestRun]:
    """Return what each test did by its name, the worst of its parameters.

    A file that could not be run as a whole is there by its path.
    """
    groups: dict[str, list[TestRun]] = {}
    for run in runs:
        node = run.node.partition("[")[0]
        groups.setdefault(f"{run.test}::{node}" if node else run.test, []).append(run)
    return {name: most_severe(group) for name, group in groups.items()}


def _results_of(tests: Iterable[BaselineTest], runs: Iterable[TestRun]) -> dict[str, TestRun]:
    """Return what some tests did by their names; one that did not run is not there."""
    results = _results(runs)
    found = ((test.name, results.get(test.name) or results.get(test.path)) for test in tests)
    return {name: run for name, run in found if run is not None}
