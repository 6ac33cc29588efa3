"""What an agent that repairs works with, and how its fixes are tried.

A fix runs on a private copy of the changed tree: the failing tests, then existing ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import sqrt
from typing import NamedTuple

from pytest_brt.agents.workspace import Workspace
from pytest_brt.codec import content_id
from pytest_brt.guard import Guard
from pytest_brt.patches import canonical_diff
from pytest_brt.patches.changes import Touched, touched_by
from pytest_brt.pysource.normal_form import patch_key
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    Author,
    FileChange,
    FoundFix,
    JudgedTest,
    Patch,
    Place,
    TestRun,
    Verdict,
)

#: Changes that belong together.
Changes = tuple[FileChange, ...]
#: Seconds that a test may take: a fix that does not end is none; and that watching lines may.
_SECONDS, _WATCHING = 20.0, 30.0
#: Files of existing tests that are watched beside the failing ones, places near which they are
#: looked for, and lines that are told.
_NEARBY, _FIRST, _LINES = 8, 6, 8


class Trial(NamedTuple):
    """A fix, and what the tests do with it."""

    #: What a person is given of it.
    fix: FoundFix
    #: Of the failing tests.
    runs: tuple[TestRun, ...]
    #: Whether it passes those failing tests that are to be trusted.
    passes: bool

    @property
    def stands(self) -> bool:
        """Whether it passes them, and breaks no existing test."""
        return self.passes and not self.fix.broken


@dataclass(kw_only=True)
class RepairWork(Workspace):
    """What an agent that repairs works with."""

    engine: Runner
    #: Tests that fail because of the bug, the most trusted first.
    failing: tuple[JudgedTest, ...]
    #: Finds the existing tests that fixes break, and whether that is wanted.
    guard: Guard
    is_guarded: bool
    #: Fixes that are tried at a time.
    jobs: int = 2
    places: tuple[Place, ...]
    #: Whether the user said where the bug is.
    is_place_given: bool = False
    #: The failing test that the agent is given as a file, None without one.
    given: JudgedTest | None = None
    #: Whether the first fix that stands ends the dialogue.
    ends_early: bool = False
    #: What the bug is held to be, "" where nothing stands.
    hypothesis: str = ""
    #: The fixes and variants that were tried, by their keys: each program once.
    tried: dict[str, Trial] = field(default_factory=dict)

    @property
    def changes(self) -> Changes:
        """What the agent made of the project's files."""
        given = self.given.test.path if self.given else ""
        changed = sorted(self.changed.items())
        return tuple(FileChange(path=p, content=new) for p, new in changed if p != given)

    @property
    def bug_tests(self) -> list[Test]:
        """The failing tests, as they are run."""
        return [Test.of(judged.test) for judged in self.failing]

    @cached_property
    def suspect_lines(self) -> list[str]:
        """The lines that failing tests run, by Ochiai's score (Abreu et al. 2006)."""
        files = tuple(place.path for place in self.places[:_FIRST])
        nearest = self.guard.files.nearest([Touched(files=files)])[:_NEARBY]
        tests = [*self.bug_tests, *(Test(id=path, path=path) for path in nearest)]
        runs = self.engine.run(tests, watch=files, seconds=_WATCHING)
        fails = sum(run.verdict is Verdict.FAIL for run in runs)
        scores = {}
        for path in files:
            masks = [(run.verdict, int(dict(run.ran).get(path, "0"), 16)) for run in runs]
            for number in range(1, len(self.lines(path)) + 1):
                verdicts = [verdict for verdict, mask in masks if mask >> number & 1]
                if failed := verdicts.count(Verdict.FAIL):
                    both = failed + verdicts.count(Verdict.PASS)
                    scores[path, number] = failed / sqrt(fails * both)
        best = sorted(scores, key=lambda line: (-scores[line], line))[:_LINES]
        return [f"- {path}:{line} {scores[path, line]:.2f}" for path, line in best]

    def try_fixes(
        self, fixes: Iterable[Changes], *, are_variants: bool = False
    ) -> list[Trial]:
        """Try fixes that are new: the failing tests and, where those pass, existing ones.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        keyed = {patch_key(changes): changes for changes in fixes}
        new = {key: changes for key, changes in keyed.items() if key not in self.tried}
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="brt-try") as pool:
            trials = pool.map(partial(self._try, are_variants), new, new.values())
            self.tried |= dict(zip(new, trials, strict=True))
        return [self.tried[key] for key in keyed]

    def _try(self, is_variant: bool, key: str, changes: Changes) -> Trial:
        runs = self.engine.run(self.bug_tests, changes, test_seconds=_SECONDS)
        green = {run.test for run in runs if run.verdict is Verdict.PASS}
        # One of several that a model wrote may well demand something wrong.
        trusted = [one for one in self.failing if one.test.origin.author is Author.PERSON]
        passes = all(one.test.id in green for one in (*self.failing[:1], *trusted))
        guarded, root = None, self.index.root
        if passes and self.is_guarded:
            _, guarded = self.guard.run([], changes, touched_by(changes, root))
        text = canonical_diff(changes, root)
        named = content_id(text)
        fix = FoundFix(
            patch=Patch(id=named, name=f"fix-{named[:8]}.diff", text=text),
            key=key,
            is_variant=is_variant,
            plausible=bool(green) and passes and not (guarded and guarded.regressions),
            passed=tuple(one.test.name for one in self.failing if one.test.id in green),
            hypothesis=self.hypothesis,
            guarded=guarded,
        )
        return Trial(fix=fix, runs=runs, passes=passes)
