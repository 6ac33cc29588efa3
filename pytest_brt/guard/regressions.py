"""Runs the existing tests near a patch on the tree with and without it, within a budget."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.execute.worst import worst
from pytest_brt.guard.choose import MOST, near_tests
from pytest_brt.guard.suite import ExistingTest, Suite, read_suite
from pytest_brt.guard.touched import Touched
from pytest_brt.types import AppliedPatch, FileChange, Guarded, Regression, TestRun, Verdict

#: Tests of the first batch; each one is twice as large, for the clock is looked at in between.
_BATCH = 24
_LARGEST_BATCH = 100
#: How much longer than the allowance looking for tests that pass may take.
_LOOKING = 3.0
#: Newly failing tests that are run a second time, with another hash seed.
_CONFIRMED = 6
#: How the reason begins where a file cannot even be imported.
_UNCOLLECTED = "cannot be collected"
#: Verdicts that, after a PASS, mean that something broke.
_BROKEN = (Verdict.FAIL, Verdict.BROKEN, Verdict.TIMEOUT, Verdict.CRASH)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a test does on the unpatched tree."""

    verdict: Verdict
    #: Wall-clock seconds, with its share of what its batch took for starting and collecting.
    seconds: float


class Guard:
    """Finds the regressions of patches of one project; safe to call from many threads.

    What the tests do on the unpatched tree is found out once, for all patches. Which tests a
    patch gets depends on what it changes and on the allowance, so that patches of the same
    definitions are compared on the same tests.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self._suite: Suite | None = None
        self._near: dict[tuple[tuple[str, ...], frozenset[str]], tuple[ExistingTest, ...]] = {}
        self._base: dict[str, _Known] = {}
        #: Files that cannot even be imported: a module that only the test-suite needs is missing.
        self._uncollected: set[str] = set()

    def check(
        self,
        applied: AppliedPatch,
        touched: Touched,
        *,
        allowance: float,
        hints: Iterable[str] = (),
        pinned: Iterable[str] = (),
    ) -> Guarded:
        """Run the tests near a patch, and return those that it makes fail.

        Args:
            applied: the patch.
            touched: what it changes, as `touched_by` says.
            allowance: seconds that its tests may take on one tree, roughly; a second run of
                what fails comes on top.
            hints: names that the candidate tests use.
            pinned: tests, as "path::node", that assert the reported wrong behaviour: what
                they do is told, and not held against the patch.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        started = time.monotonic()
        near = self._tests(touched, frozenset(hints))
        chosen, cut = self._affordable(near, allowance)
        runs = self._runs(applied.changes, chosen)
        failed = [
            (test, runs[test.name])
            for test in chosen
            if test.name in runs and runs[test.name].verdict in _BROKEN
        ]
        confirmed = self._confirm(applied.changes, [test for test, _ in failed])
        expected = set(pinned)
        regressions = [
            Regression(test=test.name, verdict=run.verdict, reason=run.reason)
            for test, run in failed
            if test.name in confirmed
        ]
        return Guarded(
            ran=len(chosen),
            total=self._read_suite().total,
            reached=_reached(runs.values()),
            by="names",
            regressions=tuple(item for item in regressions if item.test not in expected),
            pinned=tuple(item.test for item in regressions if item.test in expected),
            cut=cut,
            seconds=time.monotonic() - started,
        )

    def near(self, touched: Touched, hints: Iterable[str] = ()) -> tuple[ExistingTest, ...]:
        """Return the existing tests near what is touched, likeliest to notice first."""
        return self._tests(touched, frozenset(hints))

    def _read_suite(self) -> Suite:
        with self._lock:
            if self._suite is None:
                self._suite = read_suite(Path(self._engine.subject.root))
            return self._suite

    def _tests(self, touched: Touched, hints: frozenset[str]) -> tuple[ExistingTest, ...]:
        suite = self._read_suite()
        key = (touched.places, hints)
        with self._lock:
            if key not in self._near:
                self._near[key] = near_tests(suite, touched, hints)
            return self._near[key]

    def _affordable(
        self, near: Sequence[ExistingTest], allowance: float
    ) -> tuple[list[ExistingTest], str]:
        """Return the first tests that pass on the unpatched tree, as many as can be afforded."""
        chosen: list[ExistingTest] = []
        spent = looked = 0.0
        at, size = 0, _BATCH
        while at < len(near):
            batch = near[at : at + size]
            at, size = at + size, min(2 * size, _LARGEST_BATCH)
            known = self._baseline(batch, allowance - spent)
            for test in batch:
                cost = known[test.name].seconds
                looked += cost
                passes = known[test.name].verdict is Verdict.PASS
                if spent + cost * passes > allowance or looked > _LOOKING * allowance:
                    return chosen, f"the budget of {allowance:.0f} s allows no more"
                if passes:
                    spent += cost
                    chosen.append(test)
        if near and not chosen:
            count = f"{len(near)} tests" if len(near) > 1 else "one test"
            return chosen, f"the {count} near it failed on the unpatched tree already"
        return chosen, self._lost(near) or _left_out(len(near), len(chosen))

    def _lost(self, near: Sequence[ExistingTest]) -> str:
        """Say which file with tests near a patch gave none, for it cannot be imported."""
        with self._lock:
            paths = dict.fromkeys(test.path for test in near)
            lost = [path for path in paths if path in self._uncollected]
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        return f"{lost[0]}{more} cannot be collected on the unpatched tree" if lost else ""

    def _baseline(self, batch: Sequence[ExistingTest], left: float) -> dict[str, _Known]:
        """Return what a batch does on the unpatched tree; run it if nobody has yet.

        No test of it may take half of what is `left`: it would crowd out all others.
        """
        with self._lock:
            for test in batch:
                if test.path in self._uncollected:
                    self._base.setdefault(test.name, _Known(verdict=Verdict.BROKEN, seconds=0.0))
            new = [test for test in batch if test.name not in self._base]
            if new:
                started = time.monotonic()
                runs = self._runs((), new, limit=max(1.0, left / 2))
                own = sum(run.seconds for run in runs.values())
                shared = max(0.0, time.monotonic() - started - own) / len(new)
                for test in new:
                    run = runs.get(test.name)
                    if run and _is_uncollected(run):
                        self._uncollected.add(test.path)
                    self._base[test.name] = _Known(
                        verdict=run.verdict if run else Verdict.INVALID,
                        seconds=shared + (run.seconds if run else 0.0),
                    )
            return {test.name: self._base[test.name] for test in batch}

    def _confirm(
        self, changes: tuple[FileChange, ...], tests: Sequence[ExistingTest]
    ) -> frozenset[str]:
        """Return those that fail again with the changes and pass again without them.

        Beyond the first few they are taken as they are: so much does not fail by chance.
        """
        rest = frozenset(test.name for test in tests[_CONFIRMED:])
        tests = tests[:_CONFIRMED]
        again = self._runs(changes, tests, seed=1, alone=True)
        still = [
            test for test in tests if test.name in again and again[test.name].verdict in _BROKEN
        ]
        base = self._runs((), still, seed=1, alone=True)
        return rest | {name for name, run in base.items() if run.verdict is Verdict.PASS}

    def _runs(
        self,
        changes: tuple[FileChange, ...],
        tests: Sequence[ExistingTest],
        *,
        seed: int = 0,
        limit: float | None = None,
        alone: bool = False,
    ) -> dict[str, TestRun]:
        """Return what tests do, by their names: those of a file in one process, or each alone.

        Collecting a file of tests often costs more than running one of them.
        """
        if not tests:
            return {}
        files: dict[str, list[ExistingTest]] = {}
        for test in tests:
            files.setdefault(test.name if alone else test.path, []).append(test)
        row = Row(
            changes=changes,
            targets=tuple(
                TestTarget(id=str(number), path=group[0].path, nodes=tuple(t.node for t in group))
                for number, group in enumerate(files.values())
            ),
            hash_seed=seed,
            test_seconds=limit,
        )
        groups = list(files.values())
        found: dict[str, list[TestRun]] = {}
        lost: list[ExistingTest] = []
        for run in self._engine.run(row).runs:
            group = groups[int(run.test)]
            if run.node:
                name = f"{group[0].path}::{run.node.partition('[')[0]}"
                found.setdefault(name, []).append(run)
            elif alone or run.verdict is not Verdict.BROKEN or _is_uncollected(run):
                for test in group:
                    found.setdefault(test.name, []).append(run)
            else:  # pytest refuses all for one that it does not find
                lost += group
        done = {test.name: worst(found[test.name]) for test in tests if test.name in found}
        return done | self._runs(changes, lost, seed=seed, limit=limit, alone=True)


def _left_out(found: int, ran: int) -> str:
    """Say why tests that the budget allowed were not run; "" when all that are known were."""
    parts = []
    if found > ran:
        rest = found - ran
        parts.append(f"{rest} {'do' if rest > 1 else 'does'} not pass on the unpatched tree")
    if found >= MOST:
        parts.append(f"no more than the {MOST} nearest are tried")
    return ", ".join(parts)


def _is_uncollected(run: TestRun) -> bool:
    return run.reason.startswith(_UNCOLLECTED)


def _reached(runs: Iterable[TestRun]) -> int | None:
    """Return how many of the runs executed a patched line; None where it was not seen."""
    seen = [run.exercised for run in runs]
    return None if None in seen or not seen else sum(bool(reached) for reached in seen)
