"""Tries fixes: the failing tests, then existing ones, on private copies of the changed tree."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.codec import content_id
from pytest_brt.oracle.patch_values import is_value, showing, values_of
from pytest_brt.patches import canonical_diff
from pytest_brt.pysource.normal_form import patch_key
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    Author,
    FileChange,
    FixSource,
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
#: Seconds that a test may take: a fix that does not end is none.
_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A fix, and what the tests do with it."""

    changes: tuple[FileChange, ...]
    #: Equal for fixes that make the same program.
    key: str
    #: Of the failing tests, and what the expressions give of those that only say what is wrong.
    runs: tuple[TestRun, ...] = ()
    values: tuple[Value, ...] = ()
    #: Whether it passes those failing tests that are to be trusted.
    passes: bool
    #: What existing tests did; None where none was run.
    guarded: Guarded | None = None
    #: Who wrote it, and what the bug was held to be, or "".
    source: FixSource = FixSource.AGENT
    hypothesis: str = ""

    @property
    def broken(self) -> int:
        """How many existing tests fail with it."""
        return len(self.guarded.regressions) if self.guarded else 0

    @property
    def stands(self) -> bool:
        """Whether it passes the bug tests, or there is none, and breaks no existing test."""
        return (self.passes or not self.runs) and not self.broken


@dataclass
class Trials:
    """Tries the fixes of one report, each program once."""

    engine: Runner
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
        new = {patch_key(changes, self.root): changes for changes in fixes}
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="brt-try") as pool:
            return list(pool.map(self._tried, new, new.values()))

    def _tried(self, key: str, changes: tuple[FileChange, ...]) -> Trial:
        if key in self._known:
            return self._known[key]
        tests = (*(judged.test for judged in self.failing), *showing(self.failing))
        own = [*map(Test.of, tests)]
        runs = self.engine.run(own, changes, test_seconds=_SECONDS) if tests else ()
        green = {run.test for run in runs if run.verdict is Verdict.PASS}
        # One of several that a model wrote may well demand something wrong.
        trusted = [one for one in self.failing if one.test.origin.author is Author.PERSON]
        passes = bool(tests) and all(one.test.id in green for one in (*self.failing[:1], *trusted))
        self._known[key] = Trial(
            changes=changes,
            key=key,
            runs=tuple(run for run in runs if not is_value(run)),
            values=values_of(runs, self.failing),
            passes=passes,
            guarded=self.check(changes) if passes or not tests else None,
        )
        return self._known[key]

    def found_fix(self, trial: Trial) -> FoundFix:
        """Return a trial as a patch for the user."""
        text = canonical_diff(trial.changes, self.root)
        green = {run.test for run in trial.runs if run.verdict is Verdict.PASS}
        return FoundFix(
            patch=Patch(id=content_id(text), name=f"fix-{content_id(text)[:8]}.diff", text=text),
            key=trial.key,
            source=trial.source,
            plausible=trial.passes and trial.stands,
            passed=tuple(one.test.name for one in self.failing if one.test.id in green),
            total=len(self.failing),
            hypothesis=trial.hypothesis,
            guarded=trial.guarded,
        )
