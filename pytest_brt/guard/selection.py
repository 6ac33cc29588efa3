"""Which existing tests are run with the patches of a pool: the same ones with each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from pytest_brt.execute.engine import TestTarget
from pytest_brt.guard.baseline import BaselineFile, BaselineTest
from pytest_brt.guard.changes import Reach, Touched
from pytest_brt.guard.suite import ExistingTest
from pytest_brt.types import FailsBefore, Shortfall, Verdict
from pytest_brt.types.cause import is_uncollected
from pytest_brt.types.shortfall import BudgetSpent, FailBefore, NotCollected

#: Verdicts that mean that something is wrong: what is left out on purpose, or expected to fail, is
#: not.
BROKEN = (Verdict.FAIL, Verdict.BROKEN, Verdict.TIMEOUT, Verdict.CRASH)
#: Files of which one test is run where none runs what is changed.
_NEAREST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The existing tests that every patch of a pool is tried with."""

    tests: tuple[BaselineTest, ...] = ()
    #: Those near the patches that do not pass on the unpatched tree, and so can tell nothing.
    failing: tuple[FailsBefore, ...] = ()
    #: Whether it was seen which lines every test that could be chosen executes.
    is_watched: bool = False
    #: Why there are no more of them.
    shortfalls: tuple[Shortfall, ...] = ()
    #: Tests that the project has, as far as is known.
    total: int = 0
    #: How long they took on the unpatched tree.
    seconds: float = 0.0

    @property
    def targets(self) -> tuple[TestTarget, ...]:
        """The tests as the engine runs them: those of a file in one process."""
        return targets_of(self.tests)

    def for_patch(self, touched: Touched) -> Selection:
        """Return this without the examples that a patch itself writes anew."""
        return self

    def reaching(self, touched: Touched) -> int | None:
        """Return how many of them run what a patch changes; None when that could not be seen."""
        reaches = [touched.reach(test.ran) for test in self.tests]
        found = reaches.count(Reach.LINE) or reaches.count(Reach.FILE)
        return found or (0 if self.is_watched else None)


def select_tests(
    files: Sequence[BaselineFile],
    pool: Sequence[Touched],
    *,
    allowance: float,
    is_whole: bool,
    total: int,
) -> Selection:
    """Return the tests to be run with each patch of a pool, of which `files` were run without.

    Where those are the whole suite (`is_whole`), that is every test that runs what any of the
    patches changes; else as many of them as take `allowance` seconds, those in turn that each patch
    is likeliest to break. Where none runs what is changed, one of each of the nearest files shows
    that they can still be imported; where that cannot be seen, it is any that pass.
    """
    known = [test for file in files for test in file.tests]
    passing = [test for test in known if test.verdict is Verdict.PASS]
    reaching = list(_in_turns(passing, pool))
    is_watched = bool(passing) and all(test.is_watched for test in passing)
    useful = reaching or (_first_of_each(passing) if is_watched else passing)
    loading = {file.path: file.loading for file in files}
    are_all = is_whole and bool(reaching)
    chosen = reaching if are_all else _affordable(useful, loading, allowance)
    failing = [test for test in known if test.verdict in BROKEN and _is_near(test, pool)]
    lost = [file.refused for file in files if file.refused and is_uncollected(file.refused.cause)]
    seconds = sum(test.seconds for test in chosen)
    return Selection(
        tests=tuple(chosen),
        failing=(*lost, *map(_fails_before, failing)),
        is_watched=is_watched,
        shortfalls=tuple(
            _shortfalls(lost, failing, passing, len(chosen) < len(useful), is_whole, allowance)
        ),
        total=total,
        seconds=seconds + sum(loading[path] for path in {test.path for test in chosen}),
    )


def targets_of(tests: Iterable[BaselineTest | ExistingTest]) -> tuple[TestTarget, ...]:
    """Return tests as the engine runs them: those of a file in one process, called as the file."""
    files: dict[str, list[BaselineTest | ExistingTest]] = {}
    for test in tests:
        files.setdefault(test.path, []).append(test)
    return tuple(
        TestTarget(
            id=path,
            path=path,
            nodes=tuple(test.node for test in group),
        )
        for path, group in files.items()
    )


def _first_of_each(tests: Iterable[BaselineTest]) -> list[BaselineTest]:
    """Return the first test of each of the nearest files."""
    firsts: dict[str, BaselineTest] = {}
    for test in tests:
        firsts.setdefault(test.path, test)
    return list(firsts.values())[:_NEAREST]


def _in_turns(passing: Sequence[BaselineTest], pool: Sequence[Touched]) -> Iterator[BaselineTest]:
    """Yield the tests that run what a patch changes: the first for each patch, and so on.

    For each patch those come first that execute a changed line.
    """
    queues = [_reaching(passing, touched) for touched in dict.fromkeys(pool)]
    seen: set[str] = set()
    for test in chain.from_iterable(zip_longest(*queues)):
        if test is not None and test.name not in seen:
            seen.add(test.name)
            yield test


def _reaching(tests: Sequence[BaselineTest], touched: Touched) -> list[BaselineTest]:
    found = [test for test in tests if touched.reach(test.ran)]
    return sorted(found, key=lambda test: touched.reach(test.ran), reverse=True)


def _affordable(
    tests: Sequence[BaselineTest], loading: dict[str, float], allowance: float
) -> list[BaselineTest]:
    """Return the first tests that can be afforded; those come last that take half of the time."""
    long = {test.name for test in tests if test.seconds + loading[test.path] > allowance / 2}
    chosen: list[BaselineTest] = []
    spent, loaded = 0.0, set()
    for test in sorted(tests, key=lambda test: test.name in long):
        cost = test.seconds + loading[test.path] * (test.path not in loaded)
        if spent + cost <= allowance:
            spent += cost
            loaded.add(test.path)
            chosen.append(test)
    return chosen


def _is_near(test: BaselineTest, pool: Sequence[Touched]) -> bool:
    """Say whether a test runs what some patch changes, as far as can be seen."""
    return not test.ran or any(touched.reach(test.ran) for touched in pool)


def _shortfalls(
    lost: Sequence[FailsBefore],
    failing: Sequence[BaselineTest],
    passing: Sequence[BaselineTest],
    has_more: bool,
    is_whole: bool,
    allowance: float,
) -> Iterator[Shortfall]:
    if lost:
        yield NotCollected(path=lost[0].test, others=len(lost) - 1)
    if has_more or not is_whole:
        yield BudgetSpent(seconds=allowance)
    if failing:
        yield FailBefore(tests=len(failing), all_of_them=not passing)


def _fails_before(test: BaselineTest) -> FailsBefore:
    return FailsBefore(test=test.name, cause=test.cause, raised=test.raised)
