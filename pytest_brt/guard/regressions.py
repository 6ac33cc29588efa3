"""Runs existing tests on the tree with and without a patch, and says which of them it breaks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from pytest_brt.execute.engine import Engine, Row, worst
from pytest_brt.guard.baseline import (
    Baseline,
    BaselineFile,
    BaselineTest,
    SuiteFile,
    cases_by_test,
)
from pytest_brt.guard.changes import Reach, Touched
from pytest_brt.guard.contradictions import with_contradictions
from pytest_brt.guard.nearness import Nearness
from pytest_brt.guard.selection import BROKEN, Selection, select_tests, targets_of
from pytest_brt.guard.suite import ExistingTest, read_suite
from pytest_brt.once import Once
from pytest_brt.types import (
    ChosenBy,
    FileChange,
    Guarded,
    JudgedTest,
    Regression,
    TestRun,
    Verdict,
)

#: How many times the budget of one patch the search on the unpatched tree may take.
LOOKING = 4.0
#: Seconds of work after which something is said of it.
SILENT = 5.0
#: Files of the first row of the search; each row has four times as many as the one before it.
_FILES = 4


class Guard:
    """Finds the regressions of patches of one project; safe to call from many threads.

    What the tests do on the unpatched tree, and which lines they execute there, is found out
    once for all patches, and all patches of a pool are compared on the same tests.
    """

    def __init__(self, engine: Engine) -> None:
        self.root = Path(engine.subject.root)
        self.suite = read_suite(self.root)
        self._engine = engine
        self._baseline = Baseline(engine, self.suite.collected)
        #: What tests do there when they are run a second time.
        self._without: Once[str, Verdict] = Once()

    def near(self, touched: Touched) -> tuple[ExistingTest, ...]:
        """Return the existing tests of the nearest files, likeliest to notice what is touched."""
        return Nearness(self.suite, [touched]).tests()

    def files_near(self, touched: Touched, hints: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the files of existing tests, likeliest to notice what is touched first."""
        return Nearness(self.suite, [touched], hints).files()

    def check(
        self,
        changes: tuple[FileChange, ...],
        touched: Touched,
        *,
        allowance: float,
        hints: Iterable[str] = (),
        bug_tests: Sequence[JudgedTest] = (),
    ) -> Guarded:
        """Choose tests for one patch, run them, and return those that it makes fail.

        The `bug_tests` are what existing tests may contradict.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        selection = self.select((touched,), allowance=allowance, hints=hints)
        mine = selection.for_patch(touched)
        row = Row(changes=changes, targets=mine.targets)
        runs = self._engine.run(row).runs if mine.tests else ()
        return self.judge(changes, touched, mine, runs, bug_tests)

    def select(
        self,
        pool: Sequence[Touched],
        *,
        allowance: float,
        hints: Iterable[str] = (),
        say: Callable[[str], None] = lambda _: None,
    ) -> Selection:
        """Choose the tests that are to be run with each patch of a pool.

        Files of tests are run on the unpatched tree, likeliest first, until all of them are known
        or the time is over: `LOOKING` times the `allowance`, the seconds of tests with one patch. A
        second run of what fails comes on top. `hints` are names that the candidate tests use; `say`
        is told now and then how far the search on the unpatched tree is.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        wanted = list(_files(Nearness(self.suite, pool, hints), pool))
        found = self._search(wanted, pool, allowance, say)
        collected = {file.path: len(file.tests) + file.left for file in found if file.tests}
        return select_tests(
            found,
            pool,
            allowance=allowance,
            is_whole=len(found) == len(wanted) and all(file.is_whole for file in found),
            total=sum((self.suite.counts | collected).values()),
        )

    def _search(
        self,
        wanted: Sequence[SuiteFile],
        pool: Sequence[Touched],
        allowance: float,
        say: Callable[[str], None],
    ) -> tuple[BaselineFile, ...]:
        """Run files on the unpatched tree, as many as the time allows."""
        watch = frozenset(path for touched in pool for path in touched.files)
        found: list[BaselineFile] = []
        budget, spoken = LOOKING * allowance, time.monotonic()
        for batch in _batches(wanted):
            left = budget - sum(file.seconds for file in found)
            if left <= 0:
                break
            found += self._baseline.run(batch, watch, seconds=left, each=min(left, allowance))
            hits = [test for file in found for test in file.tests if _is_hit(test, pool)]
            if _is_enough(found, len(wanted), sum(test.seconds for test in hits), allowance):
                break
            if time.monotonic() - spoken >= SILENT:
                spoken = time.monotonic()
                say(
                    f"existing tests: {len(found)} of {len(wanted)} files run without a patch, "
                    f"{len(hits)} tests execute a changed line (at most {left:.0f} s to go)"
                )
        return tuple(found)

    def judge(
        self,
        changes: tuple[FileChange, ...],
        touched: Touched,
        selection: Selection,
        runs: Sequence[TestRun],
        bug_tests: Sequence[JudgedTest] = (),
    ) -> Guarded:
        """Return which of the chosen tests a patch makes fail, from their runs with its changes.

        Of each it is told which of the `bug_tests` assert the opposite; what that means for the
        patch is decided elsewhere.
        """
        started = time.monotonic()
        cases = _cases(selection.tests, runs)
        found = {name: worst(group) for name, group in cases.items()}
        failed = [test for test in selection.tests if test.name in found]
        failed = [test for test in failed if found[test.name].verdict in BROKEN]
        confirmed = self._confirm(changes, failed)
        broken = [
            self._regression(test, cases[test.name], bug_tests)
            for test in failed
            if test.name in confirmed
        ]
        reached = selection.reaching(touched)
        return Guarded(
            ran=sum(run.verdict is not Verdict.INVALID for run in found.values()),
            total=selection.total,
            reached=reached,
            by=ChosenBy.COVERAGE if reached else ChosenBy.NAMES,
            regressions=tuple(broken),
            failing=selection.failing,
            shortfalls=selection.shortfalls,
            seconds=sum(run.seconds for run in found.values()) + time.monotonic() - started,
        )

    def _regression(
        self, test: BaselineTest, cases: Sequence[TestRun], bug_tests: Sequence[JudgedTest]
    ) -> Regression:
        run = worst(cases)
        plain = Regression(
            test=test.name, verdict=run.verdict, cause=run.cause, raised=run.raised_briefly
        )
        failing = [case for case in cases if case.verdict in BROKEN]
        source = self.suite.files.get(test.path, "")
        return with_contradictions(plain, test, failing, source, bug_tests, self.root)

    def _confirm(
        self, changes: tuple[FileChange, ...], tests: Sequence[BaselineTest]
    ) -> frozenset[str]:
        """Return those that fail again with the changes and pass again without them."""
        again = zip(tests, self._run_again(changes, tests), strict=True)
        still = {test.name: test for test, verdict in again if verdict in BROKEN}
        without = self._without.get_all(
            still, lambda unknown: self._run_again((), [still[name] for name in unknown])
        )
        return frozenset(
            name for name, it in zip(still, without, strict=True) if it is Verdict.PASS
        )

    def _run_again(
        self, changes: tuple[FileChange, ...], tests: Sequence[BaselineTest]
    ) -> list[Verdict]:
        """Return what tests do under another hash seed; INVALID for one that did not run."""
        if not tests:
            return []
        row = Row(changes=changes, targets=targets_of(tests), hash_seed=1)
        cases = _cases(tests, self._engine.run(row).runs)
        return [
            worst(cases[test.name]).verdict if test.name in cases else Verdict.INVALID
            for test in tests
        ]


def _files(nearness: Nearness, pool: Iterable[Touched]) -> Iterator[SuiteFile]:
    """Yield the files whose tests may be run, likeliest first: examples, then tests."""
    for path in nearness.files():
        yield SuiteFile(path=path)


def _batches(files: Sequence[SuiteFile]) -> Iterator[Sequence[SuiteFile]]:
    """Yield files to be run in one row each, few of them first."""
    start, size = 0, _FILES
    while start < len(files):
        yield files[start : start + size]
        start, size = start + size, 4 * size


def _is_hit(test: BaselineTest, pool: Iterable[Touched]) -> bool:
    passes = test.verdict is Verdict.PASS
    return passes and any(touched.reach(test.ran) is Reach.LINE for touched in pool)


def _is_enough(found: Sequence[BaselineFile], wanted: int, hits: float, allowance: float) -> bool:
    """Say whether more files need not be run.

    So it is when those that were are more than a patch can be given, and the whole suite, by what
    they took, is too long to be run.
    """
    taken = sum(file.seconds for file in found)
    return hits >= allowance and taken * wanted / len(found) > LOOKING * allowance


def _cases(tests: Sequence[BaselineTest], runs: Sequence[TestRun]) -> dict[str, list[TestRun]]:
    """Return the runs of each test by its name, one for each of its cases.

    Where its file as a whole could not be run, that is what it did; one that did not run is not
    there.
    """
    found: dict[str, list[TestRun]] = {}
    for path in {test.path for test in tests}:
        of_file = [run for run in runs if run.test == path]
        whole = [run for run in of_file if not run.node]
        by_test = cases_by_test(path, of_file)
        mine = (test.name for test in tests if test.path == path)
        found |= {name: by_test.get(name, whole) for name in mine}
    return {name: group for name, group in found.items() if group}
