"""Tries fixes: the failing tests, then the existing ones, on private views of the changed tree.

The user's tree is never written, so there is nothing to revert after a fix that does not work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pytest_brt.execute.engine import Engine, Row, target_of
from pytest_brt.oracle.values import is_value, showing, values_of
from pytest_brt.syntax.normal import patch_key
from pytest_brt.types import (
    Author,
    FileChange,
    Guarded,
    JudgedTest,
    Regression,
    TestRun,
    Value,
    Verdict,
)

#: What existing tests say of changes; None when they are not to be run.
Check = Callable[[tuple[FileChange, ...]], Guarded | None]
#: A test may take this many times as long with a fix as without, and at least so many seconds.
_SLOWER = 20.0
_LEAST_SECONDS = 10.0
#: Share of the trust in all failing tests that a fix must win.
SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a fix does."""

    changes: tuple[FileChange, ...]
    #: Equal for fixes that make the same program.
    key: str
    #: What the failing tests do with it, in their order.
    runs: tuple[TestRun, ...] = ()
    #: What the expressions give of those that only say what is wrong.
    values: tuple[Value, ...] = ()
    #: Whether it passes those that are to be trusted.
    passes: bool = False
    #: Whether the existing tests had their turn, and what they did; None when none is to run.
    checked: bool = False
    guarded: Guarded | None = None

    @property
    def broken(self) -> tuple[Regression, ...]:
        """The existing tests that fail with it."""
        return self.guarded.regressions if self.guarded else ()

    @property
    def is_weakly_tested(self) -> bool:
        """Whether all bug tests only say what is wrong: any other value passes them."""
        return bool(self.runs) and {run.test for run in self.runs} <= {v.test for v in self.values}

    @property
    def is_judged(self) -> bool:
        """Whether it passes the bug tests, or there is none, and existing tests had their turn."""
        return (self.passes or not self.runs) and self.checked

    @property
    def plausible(self) -> bool:
        """Whether it passes the bug tests and breaks no existing test."""
        return self.passes and self.stands

    @property
    def stands(self) -> bool:
        """Whether nothing speaks against it."""
        return self.is_judged and not self.broken

    @property
    def failed(self) -> tuple[TestRun, ...]:
        """The runs that do not pass."""
        return tuple(run for run in self.runs if run.verdict is not Verdict.PASS)


def first_runs(failing: Sequence[JudgedTest]) -> tuple[TestRun, ...]:
    """Return what failing tests did on the unchanged tree, one run of each that was run."""
    return tuple(run for judged in failing for run in judged.judgement.runs[:1])


class Trials:
    """Tries fixes of one issue, each tree once; safe to call from many threads."""

    def __init__(
        self, engine: Engine, failing: Sequence[JudgedTest], check: Check, *, jobs: int = 2
    ) -> None:
        self.engine = engine
        self.failing = tuple(failing)
        self._check = check
        self._jobs = jobs
        #: What a fix did, by its key.
        self.known: dict[str, Trial] = {}
        #: What a test, or a file of them, does on the unchanged tree; each is run once.
        self.before = cache(lambda target: engine.run(Row(targets=(target,))).runs)

    def key(self, changes: Sequence[FileChange]) -> str:
        """Return what is equal for fixes that make the same program; "" for no other program."""
        root = Path(self.engine.subject.root)
        key = patch_key(changes, root)
        return "" if key == patch_key((), root) else key

    def run(self, changes: tuple[FileChange, ...]) -> Trial:
        """Try a fix: the failing tests and, when it passes them, existing ones.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        return self._guarded(self._tested(changes))

    def run_all(self, all_changes: Sequence[tuple[FileChange, ...]]) -> tuple[Trial, ...]:
        """Try several fixes, as many at a time as there are jobs; see `run`.

        Those that pass the failing tests, or all where there are none, are tried on existing
        ones too, which takes far longer.
        """
        if len(all_changes) <= 1:
            return tuple(self.run(changes) for changes in all_changes)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="brt-try") as pool:
            tested = list(pool.map(self._tested, all_changes))
            worth = [n for n, trial in enumerate(tested) if trial.passes or not self.failing]
            guarded = pool.map(self._guarded, [tested[n] for n in worth])
            for number, trial in zip(worth, guarded, strict=True):
                tested[number] = trial
        return tuple(tested)

    def passes(self, runs: Sequence[TestRun]) -> bool:
        """Say whether runs of the failing tests are what a right fix would do.

        All tests that a person gave must pass, the most trusted test, and tests with half of the
        trust in all of them: one of several that a model wrote may well demand something wrong.
        """
        green = {run.test for run in runs if run.verdict is Verdict.PASS}
        tests = (judged.test for judged in self.failing)
        if any(test.id not in green for test in tests if test.origin.author is Author.PERSON):
            return False
        if not self.failing or self.failing[0].test.id not in green:
            return False
        trust = {judged.test.id: judged.judgement.confidence for judged in self.failing}
        total = sum(trust.values())
        return sum(trust[test] for test in green if test in trust) >= SHARE * total

    def _tested(self, changes: tuple[FileChange, ...]) -> Trial:
        key = self.key(changes)
        if key in self.known:
            # It is this fix whose comments and layout are shown.
            return replace(self.known[key], changes=changes)
        every: tuple[TestRun, ...] = ()
        if self.failing:
            # A fix that never ends is to be noticed soon.
            usual = [run.seconds for run in first_runs(self.failing)]
            tests = (*(judged.test for judged in self.failing), *showing(self.failing))
            row = Row(
                changes=changes,
                targets=tuple(map(target_of, tests)),
                test_seconds=max(_LEAST_SECONDS, _SLOWER * max(usual, default=0.0)),
            )
            every = self.engine.run(row).runs
        runs = tuple(run for run in every if not is_value(run))
        values = values_of(every, self.failing)
        passes = self.passes(runs)
        return self._keep(Trial(changes=changes, key=key, runs=runs, values=values, passes=passes))

    def _guarded(self, trial: Trial) -> Trial:
        """Run existing tests on a fix that passes the failing ones, or that has none to pass."""
        if trial.checked or (self.failing and not trial.passes):
            return trial
        return self._keep(replace(trial, checked=True, guarded=self._check(trial.changes)))

    def _keep(self, trial: Trial) -> Trial:
        self.known[trial.key] = trial
        return trial
