"""What an agent that repairs works with, and how its fixes are tried.

A fix runs on a private copy of the changed tree: the failing tests, then existing ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from pytest_brt.agents.workspace import Workspace
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
    OracleKind,
    Patch,
    Place,
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
    #: What a person is given of it.
    fix: FoundFix
    #: Of the failing tests, and what the expressions give of those that only say what is wrong.
    runs: tuple[TestRun, ...]
    values: tuple[Value, ...]
    #: Whether it passes those failing tests that are to be trusted.
    passes: bool

    @property
    def stands(self) -> bool:
        """Whether it passes the bug tests, or there is none, and breaks no existing test."""
        return (self.passes or not self.runs) and not self.fix.broken


@dataclass(kw_only=True)
class RepairWork(Workspace):
    """What an agent that repairs works with."""

    engine: Runner
    #: Tests that fail because of the bug, the most trusted first.
    failing: tuple[JudgedTest, ...]
    check: Check
    #: Fixes that are tried at a time.
    jobs: int = 2
    places: tuple[Place, ...]
    #: Whether the user said where the bug is.
    is_place_given: bool = False
    #: Returns lines by Ochiai's score, the most suspicious first, each in words.
    suspect_lines: Callable[[], Sequence[str]] = tuple
    #: Runs the project's own tests on the code as it is.
    run_suite: Callable[[], Sequence[TestRun]] = tuple
    #: The failing test that the agent is given as a file, None without one.
    given: JudgedTest | None = None
    #: Whether the first fix that stands ends the dialogue.
    ends_early: bool = False
    #: What the bug is held to be, "" where nothing stands.
    hypothesis: str = ""
    #: The fixes and variants that were tried.
    tried: list[Trial] = field(default_factory=list)
    _known: dict[str, Trial] = field(default_factory=dict)

    def try_fixes(
        self, *fixes: tuple[FileChange, ...], source: FixSource = FixSource.AGENT
    ) -> list[Trial]:
        """Try fixes, each program once: the failing tests and, where those pass, existing ones.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        new = {patch_key(changes, self.root): changes for changes in fixes}
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="brt-try") as pool:
            trials = pool.map(self._try, new, new.values())
            self._known |= dict(zip(new, trials, strict=True))
        return [
            replace(one, fix=replace(one.fix, source=source, hypothesis=self.hypothesis))
            for one in map(self._known.__getitem__, new)
        ]

    def _try(self, key: str, changes: tuple[FileChange, ...]) -> Trial:
        if key in self._known:
            return self._known[key]
        # What forbids a value says less than what forbids an exception: the agent decides there.
        weak = [one for one in self.failing if one.test.oracle.kind is OracleKind.GONE]
        tests = (*(judged.test for judged in self.failing), *showing(weak))
        own = [*map(Test.of, tests)]
        runs = self.engine.run(own, changes, test_seconds=_SECONDS) if tests else ()
        green = {run.test for run in runs if run.verdict is Verdict.PASS}
        # One of several that a model wrote may well demand something wrong.
        trusted = [one for one in self.failing if one.test.origin.author is Author.PERSON]
        passes = bool(tests) and all(one.test.id in green for one in (*self.failing[:1], *trusted))
        guarded = self.check(changes) if passes or not tests else None
        text = canonical_diff(changes, self.root)
        patch = Patch(id=content_id(text), name=f"fix-{content_id(text)[:8]}.diff", text=text)
        fix = FoundFix(
            patch=patch,
            key=key,
            source=FixSource.AGENT,
            plausible=passes and not (guarded and guarded.regressions),
            passed=tuple(one.test.name for one in self.failing if one.test.id in green),
            total=len(self.failing),
            guarded=guarded,
        )
        return Trial(
            changes=changes,
            fix=fix,
            runs=tuple(run for run in runs if not is_value(run)),
            values=values_of(runs, weak),
            passes=passes,
        )
