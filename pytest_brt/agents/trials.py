"""Tries fixes: the failing tests, then existing ones, on private copies of the changed tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine, Row, target_of
from pytest_brt.oracle.values import is_value, showing, values_of
from pytest_brt.patches import canonical_diff
from pytest_brt.pysource.normal_form import patch_key
from pytest_brt.types import (
    Author,
    FileChange,
    FixSource,
    FixTried,
    FoundFix,
    Guarded,
    JudgedTest,
    Patch,
    TestRun,
    Value,
    Verdict,
)

#: What existing tests say of changes; None where none are to be run.
Check = Callable[[tuple[FileChange, ...]], Guarded | None]
#: Seconds that a test may take at least, and times as long with a fix as without.
_LEAST, _SLOWER = 10.0, 20.0
#: Share of the trust in all failing tests that a fix must win.
_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a fix does."""

    changes: tuple[FileChange, ...]
    #: Equal for fixes that make the same program.
    key: str
    #: What the failing tests do with it, and what the expressions give of those that only say
    #: what is wrong.
    runs: tuple[TestRun, ...] = ()
    values: tuple[Value, ...] = ()
    #: Whether it passes the failing tests that are to be trusted.
    passes: bool = False
    #: Whether existing tests had their turn, and what they did; None where none is to run.
    checked: bool = False
    guarded: Guarded | None = None

    @property
    def broken(self) -> int:
        """How many existing tests fail with it."""
        return len(self.guarded.regressions) if self.guarded else 0

    @property
    def stands(self) -> bool:
        """Whether it passes the bug tests, or there is none, and breaks no existing test."""
        return (self.passes or not self.runs) and self.checked and not self.broken

    @property
    def is_weakly_tested(self) -> bool:
        """Whether all bug tests only say what is wrong: any other value passes them."""
        return bool(self.runs) and {run.test for run in self.runs} <= {v.test for v in self.values}


@dataclass
class Trials:
    """Tries the fixes of one report, each program once."""

    engine: Engine
    #: Tests that fail because of the bug, the most trusted first.
    failing: tuple[JudgedTest, ...]
    check: Check
    #: Fixes that are tried at a time.
    jobs: int = 2
    _known: dict[str, Trial] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The project's folder."""
        return Path(self.engine.subject.root)

    def first_runs(self) -> tuple[TestRun, ...]:
        """Return what the failing tests did on the unchanged tree."""
        return tuple(run for judged in self.failing for run in judged.judgement.runs[:1])

    def run(self, *fixes: tuple[FileChange, ...]) -> list[Trial]:
        """Try fixes: the failing tests and, on those that pass them, existing ones.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="brt-try") as pool:
            return list(pool.map(self._tried, fixes))

    def _tried(self, changes: tuple[FileChange, ...]) -> Trial:
        key = patch_key(changes, self.root)
        if key in self._known:  # it is this fix whose comments and layout are shown
            return replace(self._known[key], changes=changes)
        trial = Trial(changes=changes, key=key)
        if self.failing:
            usual = max((run.seconds for run in self.first_runs()), default=0.0)
            tests = (*(judged.test for judged in self.failing), *showing(self.failing))
            seconds = max(_LEAST, _SLOWER * usual)
            row = Row(changes=changes, targets=tuple(map(target_of, tests)), test_seconds=seconds)
            every = self.engine.run(row).runs
            runs = tuple(run for run in every if not is_value(run))
            values = values_of(every, self.failing)
            trial = replace(trial, runs=runs, values=values, passes=self._passes(runs))
        if trial.passes or not self.failing:
            trial = replace(trial, checked=True, guarded=self.check(changes))
        self._known[key] = trial
        return trial

    def _passes(self, runs: Sequence[TestRun]) -> bool:
        """Say whether runs of the failing tests are what a right fix would do.

        All tests that a person gave must pass, the most trusted test, and tests with half of the
        trust in all of them: one of several that a model wrote may well demand something wrong.
        """
        green = {run.test for run in runs if run.verdict is Verdict.PASS}
        passed = [judged for judged in self.failing if judged.test.id in green]
        red = [judged for judged in self.failing if judged not in passed]
        if self.failing[0] in red or any(j.test.origin.author is Author.PERSON for j in red):
            return False
        won, lost = (sum(j.judgement.confidence for j in some) for some in (passed, red))
        return won >= _SHARE * (won + lost)

    def effect(self, trial: Trial, source: FixSource, hypothesis: str = "") -> FixTried:
        """Return what a step notes of a trial."""
        return FixTried(
            key=trial.key,
            diff=canonical_diff(trial.changes, self.root),
            source=source,
            passes=trial.passes or (trial.stands and not trial.broken),
            breaks=trial.broken,
            hypothesis=hypothesis,
        )

    def found_fix(self, trial: Trial, source: FixSource, hypothesis: str = "") -> FoundFix:
        """Return a trial as a patch for the user."""
        text = canonical_diff(trial.changes, self.root)
        green = {run.test for run in trial.runs if run.verdict is Verdict.PASS}
        return FoundFix(
            patch=Patch(id=content_id(text), name=f"fix-{content_id(text)[:8]}.diff", text=text),
            key=trial.key,
            source=source,
            plausible=trial.passes and trial.stands,
            passed=tuple(one.test.name for one in self.failing if one.test.id in green),
            total=len(self.failing),
            hypothesis=hypothesis,
            guarded=trial.guarded,
        )
