"""What one invocation is to do, decided before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_brt.reproduce.strategy import Strategy
from pytest_brt.types import Issue, JudgedTest, Patch

if TYPE_CHECKING:  # only a run that ranks or repairs imports what that needs
    from pytest_brt.pipeline.repairs import RepairPlan
    from pytest_brt.pipeline.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An issue, or only its tests, with the patches meant for it."""

    #: None when tests were given instead.
    issue: Issue | None
    patches: tuple[Patch, ...] = ()

    @property
    def issue_id(self) -> str:
        """The issue's id, or "" without one."""
        return self.issue.id if self.issue else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of work that is shown: a patch, or a run of a strategy of tests or of fixes."""

    #: Id of the issue, "" without one.
    issue: str
    #: The patch that is judged; None for a run of a strategy.
    patch: Patch | None = None
    strategy: str = ""
    #: What the run is called, as in "agent-03", or "libro" where there is one.
    label: str = ""
    #: 0-based number of the run within its strategy.
    index: int = 0
    #: Whether the strategy writes fixes.
    is_repair: bool = False

    @property
    def name(self) -> str:
        """The patch's, "" for a run of a strategy."""
        return self.patch.name if self.patch else ""

    @property
    def names(self) -> tuple[str, str, str]:
        """What a run of a strategy is kept by."""
        return self.issue, self.strategy, str(self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, decided before anything runs."""

    cases: tuple[Case, ...]
    #: In the order in which they are tried.
    strategies: Mapping[str, Strategy]
    #: Finds and judges the tests that were given; called once, when first needed.
    given: Callable[[], tuple[JudgedTest, ...]] | None = None
    #: Seconds for running existing tests on the patches; 0 is none, None a few for each patch.
    guard: float | None = 0.0
    #: Wall-clock seconds, from the start on, in which models may be asked.
    budget: float = math.inf
    repairs: RepairPlan | None = None
    #: Runs patches on other machines; None for this one.
    workers: Workers | None = None
    #: What is done at a time.
    jobs: int = 1
    #: Whether likely places are looked for where a bug test was found, too.
    wants_places: bool = False

    def case(self, job: Job) -> Case:
        """Return the case of a job."""
        return next(case for case in self.cases if case.issue_id == job.issue)

    def issue(self, job: Job) -> Issue:
        """Return the report that a job is about."""
        issue = self.case(job).issue
        assert issue is not None, "strategies work on reports"
        return issue

    def attempts(self, case: Case) -> tuple[Job, ...]:
        """Return the runs of strategies that write tests for a case, in order."""
        runs = {name: strategy.runs for name, strategy in self.strategies.items()}
        return _jobs(case.issue_id, runs) if case.issue else ()

    def fixes(self, case: Case) -> tuple[Job, ...]:
        """Return the runs of strategies that write fixes for a case, in order."""
        plan = self.repairs
        if plan is None or case.issue is None or case.issue.source != plan.source:
            return ()
        runs = {name: strategy.runs for name, strategy in plan.strategies.items()}
        return _jobs(case.issue_id, runs, is_repair=True)


def _jobs(issue: str, runs: Mapping[str, int], *, is_repair: bool = False) -> tuple[Job, ...]:
    return tuple(
        Job(
            issue=issue,
            strategy=name,
            label=f"{name}-{index:02}" if number > 1 else name,
            index=index,
            is_repair=is_repair,
        )
        for name, number in runs.items()
        for index in range(number)
    )
