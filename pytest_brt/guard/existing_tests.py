"""The project's own tests: chosen on the unpatched tree, and those that a patch makes fail.

The whole suite is run with each patch where it fits into the time for one. Else lines are watched,
and those tests come first that execute what the patches change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pytest_brt.errors import StoreProblem
from pytest_brt.guard.changes import Touched
from pytest_brt.guard.suite import TestFiles
from pytest_brt.render.words import count, listed
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner, most_severe
from pytest_brt.store import Journal, Once
from pytest_brt.types import (
    CauseCode,
    FileChange,
    Guarded,
    Note,
    Regression,
    TestRun,
    Verdict,
)

#: Seconds of existing tests with each patch, where nothing else is asked for (docs/ranking.md).
EACH = 2.0
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
#: What tests did, by their names; all parameters of one together.
_Results = Mapping[str, TestRun]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The existing tests that every patch of a pool is tried with."""

    #: What they do on the unpatched tree, by their names.
    tests: dict[str, TestRun] = field(default_factory=dict)
    #: Whether they are all that pass; else it was seen which lines they execute.
    is_whole: bool = False
    #: Why there are no more of them.
    shortfalls: tuple[Note, ...] = ()
    #: Tests that the project has, as far as is known.
    total: int = 0

    @property
    def targets(self) -> tuple[Test, ...]:
        """The tests as the engine runs them."""
        return targets_of(self.tests)


class Guard:
    """Finds the regressions of patches of one project; safe to call from many threads.

    What the tests do on the unpatched tree is found out once for all patches, and all patches of a
    pool are compared on the same tests.
    """

    def __init__(
        self,
        engine: Runner,
        pool: Sequence[Touched] = (),
        *,
        seconds: float = EACH,
        say: Callable[[str], None] = lambda _: None,
        kept: Journal | None = None,
        chosen: Selection | None = None,
    ) -> None:
        """Run nothing yet.

        The patches change `pool`, and the tests of each may take so many `seconds`; the search on
        the unpatched tree may take `LOOKING` times as long, and where the suite is cut as long
        again. `say` is told what is done. The choice is `kept` there between runs, unless it was
        `chosen` elsewhere.
        """
        self.root = Path(engine.subject.root)
        self._engine, self._pool = engine, tuple(dict.fromkeys(pool))
        self._seconds = seconds
        self._say, self._kept, self._chosen = say, kept, chosen
        #: What files do on the unpatched tree, by what is watched.
        self._known: Once[tuple[str, ...], tuple[TestRun, ...]] = Once()
        self._choices: Once[tuple[Touched, ...], Selection] = Once()
        #: What tests do on the unpatched tree in another order.
        self._again: Once[tuple[str, ...], _Results] = Once()

    @cached_property
    def files(self) -> TestFiles:
        """The project's test files, read where existing tests are asked for."""
        return TestFiles(self.root)

    def check(self, changes: tuple[FileChange, ...], touched: Touched) -> Guarded:
        """Choose tests for a patch, run them, and return those that it makes fail.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        return self.judge(changes, touched, self._engine.run(self.choose(touched).targets, changes))

    def choose(self, touched: Touched) -> Selection:
        """Return the existing tests to be run with a patch: the same for all patches of the pool.

        One that came later, as from a repair, gets those that run what it changes as well.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        pool = tuple(dict.fromkeys((*self._pool, touched)))
        return self._chosen or self._choices.get(pool, lambda: self._choice(pool))

    def _choice(self, pool: tuple[Touched, ...]) -> Selection:
        names = (repr(pool), f"{self._seconds}")
        kept = self._kept if pool == self._pool else None
        if kept and (known := kept.get(Selection, *names)):
            return known
        self._say("running existing tests without a patch")
        chosen = self._choose(pool, ())
        if chosen.tests and not chosen.is_whole:
            self._say("the existing tests take too long: watching which lines they run")
            changed = {path for touched in pool for path in touched.files}
            chosen = self._choose(pool, tuple(sorted(changed)))
        if kept:
            kept.forget()
            with suppress(StoreProblem):  # it is chosen anew the next time
                kept.put(chosen, *names)
        return chosen

    def _choose(self, pool: Sequence[Touched], watch: tuple[str, ...]) -> Selection:
        """Choose tests from what files do on the unpatched tree, run once for all that ask.

        Where not all can be afforded, those come first that run what a patch changes.
        """
        files = self.files.nearest(pool)
        runs = self._known.get(watch, lambda: self._run_files(files, watch))
        timely = [run for run in runs if run.cause.code is not CauseCode.TREE_TOO_SLOW]
        # Thousands with all that is known of them would fill the memory.
        known = _by_name(replace(run, output="", raised=run.raised_briefly) for run in timely)
        lost = [path for path, run in known.items() if not run.node and run.cause.is_uncollected]
        tests = [name for name, run in known.items() if self.files.collected.has_node(run.node)]
        failing = [name for name in tests if known[name].verdict in _BROKEN]
        passing = {name: known[name] for name in tests if known[name].verdict is Verdict.PASS}
        is_whole = timely == [*runs] and set(files) == {run.test for run in runs}
        is_whole &= sum(map(_seconds, passing.values())) <= self._seconds
        shortfalls = {
            "not-collected": lost
            and f"{listed(lost[:3])} cannot be collected on the unpatched tree",
            "budget-spent": not is_whole
            and f"the budget of {self._seconds:g} s a patch allows no more",
            "fail-before": failing
            and f"left out, failing without a patch: {count(len(failing), 'existing test')}",
        }
        return Selection(
            tests=passing if is_whole else _affordable(passing, pool, self._seconds),
            is_whole=is_whole,
            shortfalls=tuple(
                Note(code=c, text=str(text)) for c, text in shortfalls.items() if text
            ),
            total=max(len(tests), sum(map(self.files.count, files))),
        )

    def _run_files(self, files: Sequence[str], watch: tuple[str, ...]) -> tuple[TestRun, ...]:
        """Run files on the unpatched tree, nearest first, as far as the time allows.

        pytest runs nothing before it has collected all files, which takes minutes of a large suite:
        so a few files come first, then twice as many.
        """
        seconds = max(_LEAST_WALL, LOOKING * self._seconds * _MOST_CROWDED)
        targets = [Test(id=path, path=path) for path in (files if self._seconds else ())]
        runs: list[TestRun] = []
        end, size = time.monotonic() + seconds, _FIRST_FILES
        while targets and (left := end - time.monotonic()) > 0:
            runs += self._engine.run(targets[:size], seconds=left, watch=watch)
            targets, size = targets[size:], 2 * size
        return tuple(runs)

    def judge(
        self, changes: tuple[FileChange, ...], touched: Touched, runs: Iterable[TestRun]
    ) -> Guarded:
        """Return which of the chosen tests a patch makes fail, from their runs with its changes."""
        chosen = self.choose(touched)
        results = _results_of(chosen.tests, runs)
        confirmed = self._confirm(changes, [name for name, run in results.items() if _fails(run)])
        reached = None
        if not chosen.is_whole:
            reached = sum(touched.is_run(_lines(run)) for run in chosen.tests.values())
        return Guarded(
            ran=sum(run.verdict is not Verdict.INVALID for run in results.values()),
            total=chosen.total,
            reached=reached,
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
            shortfalls=chosen.shortfalls,
        )

    def _confirm(self, changes: tuple[FileChange, ...], failed: Sequence[str]) -> Sequence[str]:
        """Return those that fail again, last first, and then pass without the changes.

        Those that pass the second time are run a third time, each alone, which decides.
        """
        again = self._run_again(changes, failed)
        for name in failed:
            if not _fails(again.get(name)):
                again |= self._run_again(changes, [name])
        still = [name for name in failed if _fails(again.get(name))]
        before = self._again.get(tuple(still), lambda: self._run_again((), still))
        return [n for n in still if n in before and before[n].verdict is Verdict.PASS]

    def _run_again(
        self, changes: tuple[FileChange, ...], names: Sequence[str]
    ) -> dict[str, TestRun]:
        """Return what tests do in reverse order, under another hash seed."""
        runs = self._engine.run(targets_of(names), changes, hash_seed=1, reverse=True)
        return _results_of(names, runs)


def targets_of(names: Iterable[str]) -> tuple[Test, ...]:
    """Return tests as the engine runs them: those of a file together, called as the file."""
    nodes: dict[str, list[str]] = {}
    for path, _, node in (name.partition("::") for name in names):
        nodes.setdefault(path, []).append(node)
    return tuple(Test(id=path, path=path, nodes=tuple(group)) for path, group in nodes.items())


def _affordable(tests: _Results, pool: Sequence[Touched], seconds: float) -> dict[str, TestRun]:
    """Return the first tests that can be afforded, of those first that run what a patch changes.

    Those come last that take half of the time.
    """
    far = {
        name: not any(touched.is_run(_lines(run)) for touched in pool)
        for name, run in tests.items()
    }
    chosen = {}
    for name in sorted(tests, key=lambda name: (_seconds(tests[name]) > seconds / 2, far[name])):
        if _seconds(tests[name]) <= seconds:
            seconds -= _seconds(tests[name])
            chosen[name] = tests[name]
    return chosen


def _seconds(run: TestRun) -> float:
    """Return its CPU seconds, or wall-clock ones where the process did not end by itself."""
    return _LEAST + (run.cpu or run.seconds)


def _lines(run: TestRun) -> dict[str, int]:
    """Return, by path, the lines of watched files that it executes, as the bits of a number."""
    return {path: int(lines, 16) for path, lines in run.ran}


def _line(name: str, run: TestRun) -> int:
    """Return the line of its file at which a test fails, 0 where it fails elsewhere."""
    frames = reversed(run.raised.frames if run.raised else ())
    return next((frame.line for frame in frames if name.startswith(f"{frame.path}::")), 0)


def _fails(run: TestRun | None) -> bool:
    """Return whether a test ran and something is wrong."""
    return run is not None and run.verdict in _BROKEN


def _name(run: TestRun) -> str:
    """Return a test as pytest names it, without parameters; its file where it is no single one."""
    node = run.node.partition("[")[0]
    return f"{run.test}::{node}" if node else run.test


def _by_name(runs: Iterable[TestRun]) -> dict[str, TestRun]:
    """Return what each test did, the worst of its parameters."""
    groups: dict[str, list[TestRun]] = {}
    for run in runs:
        groups.setdefault(_name(run), []).append(run)
    return {name: most_severe(group) for name, group in groups.items()}


def _results_of(names: Iterable[str], runs: Iterable[TestRun]) -> dict[str, TestRun]:
    """Return what some tests did, as their files where those could not be run as a whole."""
    results = _by_name(runs)
    known = ((name, results.get(name) or results.get(name.partition("::")[0])) for name in names)
    return {name: run for name, run in known if run is not None}
