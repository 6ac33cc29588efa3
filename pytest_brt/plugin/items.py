"""What pytest shows as tests in our runs: an item waits for the result of a job.

It passes once its work is done, whatever came of that, is skipped where a patch does not apply, and
fails only where we do: what came of all of them is the exit code's, and the summary's, to say.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from traceback import format_exception
from typing import Any, NamedTuple

import pytest

from pytest_brt.errors import BrtError
from pytest_brt.pipeline.plan import Job
from pytest_brt.pipeline.run import Run
from pytest_brt.plugin.cases import absolutepath
from pytest_brt.pysource.parse import PARSING
from pytest_brt.render.answer import bug_tests
from pytest_brt.render.ranking import shortcoming
from pytest_brt.shown import on_a_line, plain
from pytest_brt.types import Attempt, PatchResult, Repair


class Outcome(NamedTuple):
    """What came of an item: how pytest counts it, as a letter, and with ``-v``."""

    category: str
    letter: str
    word: str
    #: What is not reached with it of what was asked for, "" where all is.
    unmet: str = ""


REPRODUCED = Outcome("reproduced", ".", "REPRODUCED")
LIKELY = Outcome("possibly reproduced", ".", "POSSIBLY REPRODUCED")
PASSING = Outcome("passing", ".", "PASSES")
PATCHED = Outcome("patched", ".", "PATCHED")
NOT_REPRODUCED = Outcome("not reproduced", "F", "NOT REPRODUCED", "a report was not reproduced")
POSSIBLE = LIKELY._replace(unmet="a report was only possibly reproduced")
UNTRIED = Outcome("not tried", "x", "NOT TRIED", "no patch could be ranked")
REFUSED = Outcome("not applied", "x", "DOES NOT APPLY", "no patch could be ranked")
FAILING = Outcome("failing", "x", "FAILS", "no patch passes")
NO_PATCH = Outcome("without a patch", "F", "NO PATCH", "no patch was found")
BREAKING = NO_PATCH._replace(unmet="every patch that was found breaks existing tests")
#: What misses a goal, the nearest to it last.
_MISSES = (NOT_REPRODUCED, POSSIBLE, REFUSED, UNTRIED, FAILING, NO_PATCH, BREAKING)
_BY_CATEGORY = {outcome.category: outcome for outcome in (REPRODUCED, PASSING, PATCHED, *_MISSES)}


class Unheard(Exception):
    """A result needs a model, and none ever answered."""


class Defect(Exception):
    """What nobody expected, with the frames from our own code on."""

    def __init__(self, error: BaseException) -> None:
        frames = "".join(format_exception(error))
        super().__init__(
            "internal error in pytest-brt: please report it with what follows (--tb=long shows "
            f"more)\n\n{frames}"
        )


class JobItem(pytest.Item):
    """A job that pytest shows as a test."""

    #: What came of it.
    outcome: Outcome | None = None

    def __init__(
        self,
        *,
        job: Job,
        wait: Callable[[Job], tuple[Run, Any]],
        **kwargs: Any,
    ) -> None:  # pytest's own arguments
        super().__init__(**kwargs)
        self.job = job
        self._wait = wait

    def is_named(self, text: str) -> bool:
        """Say whether an argument names it, or its file: by its id, or where somebody types it."""
        return text in (self.nodeid, self.nodeid.partition("::")[0]) or (
            absolutepath(text) == self.path
        )

    def runtest(self) -> None:
        """Wait for the result, and say what came of it."""
        # A project's `-W error` is about its own code, not about ours.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                run, result = self._wait(self.job)
            except Unheard as problem:  # where no model ever answered, nothing of ours is broken
                self._end(NO_PATCH if self.job.is_repair else NOT_REPRODUCED, str(problem))
                return
            refused = getattr(result, "refused", None)
            self._end(outcome_of(run, self.job, result), refused.text if refused else "")
        if refused:
            pytest.skip(plain(refused.text))

    def _end(self, outcome: Outcome, reason: str) -> None:
        self.outcome = outcome
        text = f"{outcome.category}: {reason}" if reason else outcome.category
        self.user_properties.append(("brt", plain(text)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show our own errors as one line; anything else is a defect, without pytest's frames."""
        if isinstance(excinfo.value, BrtError):
            return plain(str(excinfo.value))
        if isinstance(excinfo.value, Defect) and self.config.getoption("tbstyle", "auto") == "auto":
            return str(excinfo.value)
        with PARSING:  # pytest parses the source of every frame, while our threads parse too
            return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the heading of a failure."""
        name = self.name if "::" in self.nodeid else f"patch {self.name}"
        return Path(on_a_line(str(self.path))), None, name


def outcome_of(run: Run, job: Job, result: Attempt | PatchResult | Repair) -> Outcome:
    """Return what came of a job."""
    if isinstance(result, Attempt):
        sure, possible = bug_tests(result.tests)
        if sure:
            return REPRODUCED if any(test.judgement.reproduces for test in sure) else LIKELY
        return POSSIBLE if possible else NOT_REPRODUCED
    if isinstance(result, Repair):
        if not result.fixes:
            return NO_PATCH
        return BREAKING if all(fix.broken for fix in result.fixes) else PATCHED
    if result.refused is not None:
        return REFUSED
    if not (result.verdicts or result.passes_own):
        return UNTRIED
    tests = [judged for judged in run.tests(job.issue) if judged.judgement.candidate]
    trusted = {judged.test.id: judged.judgement.counts for judged in tests}
    return FAILING if shortcoming(result, trusted) else PASSING


def status_of(report: pytest.TestReport) -> Outcome | None:
    """Return what came of the item of a report of pytest's, None for another one."""
    text = dict(report.user_properties).get("brt")
    if report.when != "call" or not isinstance(text, str):
        return None
    return _BY_CATEGORY[text.partition(":")[0]]


def unmet_goals(items: Iterable[pytest.Item]) -> list[str]:
    """Return what was not reached of what the items were for.

    The goals are, for each report, a bug test, a patch that passes, and a fix; what is repaired
    need not be reproduced too, as tests may have been given.
    """
    goals: dict[tuple[str, bool, bool], list[Outcome]] = {}
    for item in items:
        if isinstance(item, JobItem) and item.outcome is not None:
            job = item.job
            goal = job.issue, job.patch is None, job.is_repair
            goals.setdefault(goal, []).append(item.outcome)
    missed = [
        max(outcomes, key=_MISSES.index).unmet
        for (issue, is_strategy, is_repair), outcomes in goals.items()
        if all(outcome.unmet for outcome in outcomes)
        and not (is_strategy and not is_repair and (issue, True, True) in goals)
    ]
    return list(dict.fromkeys(missed))
