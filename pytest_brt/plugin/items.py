"""What pytest shows as tests in our runs: an item waits for the result of a job.

It passes once its work is done, whatever came of that, is skipped where a patch does not apply, and
fails only where we do: what came of all of them is the exit code's, and the summary's, to say.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from enum import StrEnum
from traceback import format_exception
from typing import Any

import pytest

from pytest_brt.errors import BrtError
from pytest_brt.pipeline.plan import Job
from pytest_brt.pipeline.run import Run
from pytest_brt.pysource.parse import PARSING
from pytest_brt.render.answer import bug_tests
from pytest_brt.shown import plain
from pytest_brt.types import Attempt, JudgedTest, PatchResult, Repair, Verdict


class Outcome(StrEnum):
    """What came of an item, as pytest counts it."""

    REPRODUCED = "reproduced"
    POSSIBLE = "possibly-reproduced"
    MISSED = "not-reproduced"
    PASSING = "passing"
    FAILING = "failing"
    UNTRIED = "not-tried"
    REFUSED = "not-applied"
    PATCHED = "patched"
    UNPATCHED = "without-a-patch"

    @property
    def letter(self) -> str:
        """What pytest shows while it runs."""
        if self in (Outcome.MISSED, Outcome.UNPATCHED):
            return "F"
        return "x" if self in (Outcome.FAILING, Outcome.UNTRIED, Outcome.REFUSED) else "."


class Unheard(Exception):
    """A result needs a model, and none ever answered."""


class Defect(Exception):
    """What nobody expected, with the frames from our own code on."""

    def __init__(self, error: BaseException) -> None:
        frames = "".join(format_exception(error))
        super().__init__(
            f"internal error in pytest-brt: please report it with what follows\n\n{frames}"
        )


class JobItem(pytest.Item):
    """A job that pytest shows as a test."""

    #: Whether that is reached with it which was asked for; None where it did not end.
    is_reached: bool | None = None

    def __init__(
        self, *, job: Job, wait: Callable[[Job], tuple[Run, Any]], **kwargs: Any
    ) -> None:  # pytest's own arguments
        super().__init__(**kwargs)
        self.job = job
        self._wait = wait

    def runtest(self) -> None:
        """Wait for the result, and say what came of it."""
        # A project's `-W error` is about its own code, not about ours.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                run, result = self._wait(self.job)
            except Unheard as problem:  # where no model ever answered, nothing of ours is broken
                outcome = Outcome.UNPATCHED if self.job.is_repair else Outcome.MISSED
                self.is_reached, reason = False, str(problem)
            else:
                outcome, self.is_reached = outcome_of(result, run.tests(self.job.issue))
                refused = getattr(result, "refused", None)
                reason = refused.text if refused else ""
        text = f"{outcome}: {reason}" if reason else str(outcome)
        self.user_properties.append(("brt", plain(text)))
        if outcome is Outcome.REFUSED:
            pytest.skip(plain(reason))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show our own errors as one line; anything else is a defect, without pytest's frames."""
        if isinstance(excinfo.value, BrtError | Defect):
            return plain(str(excinfo.value))
        with PARSING:  # pytest parses the source of every frame, while our threads parse too
            return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the heading of a failure."""
        # pytest takes the dots of a name that ends the id for those of a module.
        name = self.name if "::" in self.nodeid else f"patch {self.name}"
        return self.path, None, name


def outcome_of(
    result: Attempt | PatchResult | Repair, tests: Iterable[JudgedTest]
) -> tuple[Outcome, bool]:
    """Return what came of a job, and whether that is reached with it which was asked for.

    `tests` are those by which a patch is ranked.
    """
    if isinstance(result, Attempt):
        sure, possible = bug_tests(result.tests)
        if any(test.judgement.reproduces for test in sure):
            return Outcome.REPRODUCED, True
        return Outcome.POSSIBLE if sure or possible else Outcome.MISSED, bool(sure)
    if isinstance(result, Repair):
        good = any(not fix.broken for fix in result.fixes)
        return Outcome.PATCHED if good else Outcome.UNPATCHED, good
    if result.refused is not None:
        return Outcome.REFUSED, False
    if not (result.verdicts or result.passes_own):
        return Outcome.UNTRIED, False
    # Where some tests are sure, only those count.
    sure, possible = bug_tests(tests)
    verdicts = [result.verdicts.get(judged.test.id) for judged in sure or possible]
    passes = not result.regressions and set(verdicts) <= {Verdict.PASS, None}
    return Outcome.PASSING if passes else Outcome.FAILING, passes


def status_of(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Return how pytest shows the item of a report of its, None for another one."""
    text = dict(report.user_properties).get("brt")
    if report.when != "call" or not isinstance(text, str):
        return None
    outcome = Outcome(text.partition(":")[0])
    words = outcome.replace("-", " ")
    return words, outcome.letter, words.upper()


def all_reached(items: Iterable[pytest.Item]) -> bool:
    """Say whether each report has a bug test, or a patch that passes, and a fix, as was asked for.

    What is repaired need not be reproduced too, as tests may have been given.
    """
    goals: dict[tuple[str, str], bool] = {}
    for item in items:
        if isinstance(item, JobItem) and item.is_reached is not None:
            job = item.job
            goal = job.issue, "patch" if job.patch else "fix" if job.is_repair else "test"
            goals[goal] = goals.get(goal, False) or item.is_reached
    return all(
        is_reached or (kind == "test" and (issue, "fix") in goals)
        for (issue, kind), is_reached in goals.items()
    )
