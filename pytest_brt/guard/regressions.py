"""Runs existing tests on the tree with and without a patch, those first that execute its lines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from pytest_brt.execute.engine import Engine, Row, TestTarget, worst
from pytest_brt.guard.selection import MOST, Touched, near_tests
from pytest_brt.guard.suite import ExistingTest, Suite, read_suite
from pytest_brt.types import (
    ChosenBy,
    FileChange,
    Guarded,
    Regression,
    Shortfall,
    TestRun,
    Verdict,
)
from pytest_brt.types.cause import Phase, PhaseFailed
from pytest_brt.types.shortfall import BudgetSpent, FailBefore, NotCollected, TooMany

#: Tests, and files that they are in, of the first batch; each one is twice as large. Loading a file
#: often takes longer than its tests, and the clock is looked at in between only.
_BATCH, _BATCH_FILES = 30, 5
_LARGEST_BATCH = 120
#: How many times the budget of one patch the search on the unpatched tree may take.
LOOKING = 4.0
#: Seconds that each test takes besides its own: telling of it.
_LEAST = 0.01
#: Seconds of work after which something is said of it.
SILENT = 5.0
#: Newly failing tests, at most, that are run a second time, with another hash seed.
_CONFIRMED = 6
#: Verdicts that, after a PASS, mean that something broke.
_BROKEN = (Verdict.FAIL, Verdict.BROKEN, Verdict.TIMEOUT, Verdict.CRASH)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a test does on the unpatched tree."""

    verdict: Verdict
    #: CPU seconds, or wall-clock ones where the process did not end by itself.
    seconds: float
    #: Of loading its file.
    loading: float = 0.0
    #: The files that were watched.
    watched: frozenset[str] = frozenset()
    #: By path, the lines of them that it executes, as the bits of a number.
    ran: Mapping[str, int]

    def reaches(self, touched: Touched) -> int:
        """Return 2 for a test that executes a changed line, 1 for one near them, else 0."""
        if any(self.ran.get(path, 0) & lines for path, lines in touched.lines):
            return 2
        return int(touched.outside and any(self.ran.get(path) for path, _ in touched.lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The existing tests that a patch is to be tried with."""

    tests: tuple[ExistingTest, ...]
    #: How many of them execute a changed line; None when that could not be seen.
    reaching: int | None
    #: Why there are no more of them.
    shortfalls: tuple[Shortfall, ...]
    #: How many were left out because they do not pass on the unpatched tree.
    failing: int
    #: How long they took on the unpatched tree.
    seconds: float

    @property
    def targets(self) -> tuple[TestTarget, ...]:
        """The tests as the engine runs them: those of a file in one process."""
        return targets_of(self.tests)


class Guard:
    """Finds the regressions of patches of one project; safe to call from many threads.

    What the tests do on the unpatched tree, and which lines they execute there, is found out
    once for all patches. Patches that change the same lines are compared on the same tests.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self._suite: Suite | None = None
        self._near: dict[tuple[object, ...], tuple[ExistingTest, ...]] = {}
        self._base: dict[str, _Known] = {}
        #: What tests do there when they are run a second time, and those that, with that, failed
        #: twice with some patch: what they do does not depend on chance.
        self._again: dict[str, Verdict] = {}
        self._steady: frozenset[str] = frozenset()
        self._watched: frozenset[str] = frozenset()
        #: Files that cannot even be imported: a module that only the test-suite needs is missing.
        self._uncollected: set[str] = set()

    def check(
        self,
        changes: tuple[FileChange, ...],
        touched: Touched,
        *,
        allowance: float,
        hints: Iterable[str] = (),
        pinned: Iterable[str] = (),
    ) -> Guarded:
        """Choose tests for a patch, run them, and return those that it makes fail.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        chosen = self.choose(touched, allowance=allowance, hints=hints)
        row = Row(changes=changes, targets=chosen.targets)
        runs = self._engine.run(row).runs if chosen.tests else ()
        return self.judge(changes, chosen, runs, pinned)

    def watch(self, paths: Iterable[str]) -> None:
        """Note files that patches change: the unpatched tree is run once for all of them."""
        with self._lock:
            self._watched |= frozenset(paths)

    def choose(
        self,
        touched: Touched,
        *,
        allowance: float,
        hints: Iterable[str] = (),
        say: Callable[[str], None] = lambda _: None,
    ) -> Chosen:
        """Choose the tests that are to be run with a patch.

        Tests are run on the unpatched tree, likeliest first by what they mention, until enough
        are known that pass and execute a changed line. Where none of them does, or that cannot be
        seen, those that mention what is changed are taken.

        They may take `allowance` seconds on one tree, roughly; a second run of what fails comes on
        top. `hints` are names that the candidate tests use; `say` is told now and then how far the
        search on the unpatched tree is.
        """
        self.watch(touched.files)
        near = self.near(touched, hints)
        passing, at = self._search(near, touched, allowance, say)
        failing = at - len(passing)
        tests, left = self._affordable(passing, allowance)
        names = {test.name for test in tests}
        reaching = sum(reach == 2 for reach, test in passing if test.name in names)
        seen = any(self._base[test.name].ran for _, test in passing)
        shortfalls = self._lost(near) or _shortfalls(at, len(near), failing, left, allowance)
        return Chosen(
            tests=tests,
            reaching=reaching if seen else None,
            shortfalls=shortfalls,
            failing=failing,
            seconds=self._cost(tests),
        )

    def _affordable(
        self, passing: Sequence[tuple[int, ExistingTest]], allowance: float
    ) -> tuple[tuple[ExistingTest, ...], int]:
        """Return the tests that can be afforded, and how many more there are of use.

        Those that execute a changed line come first; where there are any, those that execute
        nothing of the changed files can tell nothing. None may take half of all the time.
        """
        useful = [entry for entry in passing if entry[0]] or list(passing)
        long = {test.name for _, test in useful if self._cost([test]) > allowance / 2}
        useful.sort(key=lambda entry: (-entry[0], entry[1].name in long))
        chosen: list[ExistingTest] = []
        spent, loaded = 0.0, set()
        for _, test in useful:
            known = self._base[test.name]
            cost = known.seconds + known.loading * (test.path not in loaded)
            if spent + cost <= allowance:
                spent += cost
                loaded.add(test.path)
                chosen.append(test)
        return tuple(chosen), len(useful) - len(chosen)

    def _cost(self, tests: Sequence[ExistingTest]) -> float:
        """Return how long known tests take on the unpatched tree: each file is loaded once."""
        loading = {test.path: self._base[test.name].loading for test in tests}
        return sum(self._base[test.name].seconds for test in tests) + sum(loading.values())

    def _search(
        self,
        near: Sequence[ExistingTest],
        touched: Touched,
        allowance: float,
        say: Callable[[str], None],
    ) -> tuple[list[tuple[int, ExistingTest]], int]:
        """Return which tests pass on the unpatched tree, with how they reach, and how many ran."""
        passing: list[tuple[int, ExistingTest]] = []
        looked: list[ExistingTest] = []
        left, spoken = LOOKING * allowance, time.monotonic()
        for batch in _batches(near):
            known = self._baseline(batch, min(left, allowance))
            looked += batch
            for test in batch:
                if known[test.name].verdict is Verdict.PASS:
                    passing.append((known[test.name].reaches(touched), test))
            left = max(0.0, LOOKING * allowance - self._cost(looked))
            hits = [test for reach, test in passing if reach == 2]
            if not left or self._cost(hits) >= allowance:
                break
            if time.monotonic() - spoken >= SILENT:
                spoken = time.monotonic()
                say(
                    f"existing tests: {len(looked)} of {len(near)} were run without a patch, "
                    f"{len(hits)} execute a changed line (at most {left:.0f} s of tests to go)"
                )
        return passing, len(looked)

    def judge(
        self,
        changes: tuple[FileChange, ...],
        chosen: Chosen,
        runs: Iterable[TestRun],
        pinned: Iterable[str] = (),
    ) -> Guarded:
        """Return which of the chosen tests a patch makes fail, from their runs with its changes.

        What the `pinned` tests do is told, and not held against it: they assert the reported wrong
        behaviour.
        """
        started = time.monotonic()
        found = self._found(changes, chosen.tests, runs)
        failed = [test for test in chosen.tests if _breaks(found.get(test.name))]
        expected = set(pinned)
        unexpected = [test for test in failed if test.name not in expected]
        confirmed = expected | self._confirm(changes, unexpected)
        regressions = tuple(
            _regression(test.name, found[test.name]) for test in failed if test.name in confirmed
        )
        return Guarded(
            ran=sum(run.verdict is not Verdict.INVALID for run in found.values()),
            total=self._read_suite().total + sum(test.is_doctest for test in chosen.tests),
            reached=chosen.reaching,
            by=ChosenBy.COVERAGE if chosen.reaching else ChosenBy.NAMES,
            regressions=tuple(item for item in regressions if item.test not in expected),
            pinned=tuple(item.test for item in regressions if item.test in expected),
            failing=chosen.failing,
            shortfalls=chosen.shortfalls,
            seconds=sum(run.seconds for run in found.values()) + time.monotonic() - started,
        )

    def _read_suite(self) -> Suite:
        with self._lock:
            if self._suite is None:
                self._suite = read_suite(Path(self._engine.subject.root))
            return self._suite

    def near(self, touched: Touched, hints: Iterable[str] = ()) -> tuple[ExistingTest, ...]:
        """Return the existing tests near what is touched, likeliest to notice first."""
        suite, words = self._read_suite(), frozenset(hints)
        key = (touched.places, touched.examples, words)
        with self._lock:
            if key not in self._near:
                self._near[key] = near_tests(suite, touched, words)
            return self._near[key]

    def _lost(self, near: Sequence[ExistingTest]) -> tuple[NotCollected, ...]:
        """Return the file with tests near a patch that gave none, for it cannot be imported."""
        with self._lock:
            paths = dict.fromkeys(test.path for test in near if not test.is_doctest)
            lost = [path for path in paths if path in self._uncollected]
        return (NotCollected(path=lost[0], others=len(lost) - 1),) if lost else ()

    def _baseline(self, batch: Sequence[ExistingTest], most: float) -> dict[str, _Known]:
        """Return what a batch does on the unpatched tree; run it if nobody has yet.

        No test of it may take longer than `most`: it could not be afforded with a patch.
        """
        with self._lock:
            for test in batch:
                if test.path in self._uncollected:
                    lost = _Known(verdict=Verdict.BROKEN, seconds=0.0, ran={})
                    self._base.setdefault(test.name, lost)
            new = [test for test in batch if not self._is_known(test)]
            if new:
                runs = self._runs((), new, limit=max(1.0, most) * _crowding())
                for test in new:
                    self._base[test.name] = self._learnt(test, runs.get(test.name))
            return {test.name: self._base[test.name] for test in batch}

    def _is_known(self, test: ExistingTest) -> bool:
        known = self._base.get(test.name)
        if known is None:
            return False
        return known.verdict is not Verdict.PASS or known.watched >= self._watched

    def _learnt(self, test: ExistingTest, run: TestRun | None) -> _Known:
        if run is None:
            return _Known(verdict=Verdict.INVALID, seconds=0.0, ran={})
        if _is_uncollected(run):
            self._uncollected.add(test.path)
        return _Known(
            verdict=run.verdict,
            seconds=_LEAST + (run.cpu or run.seconds / _crowding()),
            loading=run.loading,
            watched=self._watched,
            ran={path: int(lines, 16) for path, lines in run.ran},
        )

    def _confirm(
        self, changes: tuple[FileChange, ...], tests: Sequence[ExistingTest]
    ) -> frozenset[str]:
        """Return those that fail again with the changes and pass again without them.

        Where it is more than a few they are taken as they are: so much does not fail by chance. So
        are those for which that was found out with another patch.
        """
        if len(tests) > _CONFIRMED:
            return frozenset(test.name for test in tests)
        with self._lock:
            steady = self._steady.intersection(test.name for test in tests)
        doubted = [test for test in tests if test.name not in steady]
        again = self._runs(changes, doubted, seed=1)
        still = [test for test in doubted if _breaks(again.get(test.name))]
        with self._lock:
            unknown = [test for test in still if test.name not in self._again]
            runs = self._runs((), unknown, seed=1)
            self._again |= {name: run.verdict for name, run in runs.items()}
            passing = {test.name for test in still if self._again.get(test.name) is Verdict.PASS}
            self._steady |= passing
        return steady | passing

    def _runs(
        self,
        changes: tuple[FileChange, ...],
        tests: Sequence[ExistingTest],
        *,
        seed: int = 0,
        limit: float | None = None,
        alone: bool = False,
    ) -> dict[str, TestRun]:
        """Return what tests do, by their names: those of a file in one process, or each alone."""
        if not tests:
            return {}
        row = Row(
            changes=changes,
            targets=targets_of(tests, alone=alone),
            hash_seed=seed,
            test_seconds=limit,
            watch=() if changes or seed else tuple(sorted(self._watched)),
        )
        return self._found(changes, tests, self._engine.run(row).runs, seed=seed)

    def _found(
        self,
        changes: tuple[FileChange, ...],
        tests: Sequence[ExistingTest],
        runs: Iterable[TestRun],
        *,
        seed: int = 0,
    ) -> dict[str, TestRun]:
        """Return what each test did, by its name."""
        # A target is called as its test, or as the file whose tests it has.
        groups = {test.name: [test] for test in tests}
        for test in tests:
            groups.setdefault(test.path, []).append(test)
        of_file: dict[str, list[TestRun]] = {}
        lost: list[ExistingTest] = []
        for run in runs:
            group = groups[run.test]
            if run.node:
                name = f"{group[0].path}::{run.node.partition('[')[0]}"
                of_file.setdefault(name, []).append(run)
                continue
            refused = run.verdict is Verdict.BROKEN and not _is_uncollected(run)
            # pytest refuses all for one that it does not find; those chosen for a patch are there.
            if refused and len(group) > 1 and not changes and not group[0].is_doctest:
                lost += group
            else:
                for test in group:
                    of_file.setdefault(test.name, []).append(run)
        found = {test.name: worst(of_file[test.name]) for test in tests if test.name in of_file}
        return found | self._runs(changes, lost, seed=seed, alone=True)


def targets_of(tests: Sequence[ExistingTest], *, alone: bool = False) -> tuple[TestTarget, ...]:
    """Return tests as the engine runs them: those of a file in one process, or each `alone`."""
    files: dict[str, list[ExistingTest]] = {}
    for test in tests:
        files.setdefault(test.name if alone else test.path, []).append(test)
    return tuple(
        TestTarget(
            id=name,
            path=group[0].path,
            nodes=tuple(test.node for test in group),
            is_doctest=group[0].is_doctest,
        )
        for name, group in files.items()
    )


def _batches(near: Sequence[ExistingTest]) -> Iterator[list[ExistingTest]]:
    """Yield tests to be run together, of few files first, each batch twice as large."""
    waiting, size, most = list(near), _BATCH, _BATCH_FILES
    while waiting:
        files = set(list(dict.fromkeys(test.path for test in waiting))[:most])
        batch = [test for test in waiting if test.path in files][:size]
        yield batch
        taken = {test.name for test in batch}
        waiting = [test for test in waiting if test.name not in taken]
        size, most = min(2 * size, _LARGEST_BATCH), 2 * most


def _crowding() -> float:
    """Return how many times as long as alone what runs now may take: others want the CPUs too."""
    waiting = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1.0, waiting / (os.cpu_count() or 1))


def _breaks(run: TestRun | None) -> bool:
    return run is not None and run.verdict in _BROKEN


def _is_uncollected(run: TestRun) -> bool:
    """Say whether the test's file cannot even be imported."""
    return isinstance(run.cause, PhaseFailed) and run.cause.phase is Phase.COLLECTION


def _regression(name: str, run: TestRun) -> Regression:
    raised = replace(run.raised, frames=(), values=()) if run.raised else None
    return Regression(test=name, verdict=run.verdict, cause=run.cause, raised=raised)


def _shortfalls(
    looked: int, near: int, failing: int, left: int, allowance: float
) -> tuple[Shortfall, ...]:
    """Return why no more tests were chosen; nothing when all that are known were."""
    if left or looked < near:
        return (BudgetSpent(seconds=allowance),)
    found: list[Shortfall] = []
    all_fail = failing == near
    if failing:
        found.append(FailBefore(tests=failing, all_of_them=all_fail))
    if near >= MOST and not all_fail:
        found.append(TooMany(most=MOST))
    return tuple(found)
