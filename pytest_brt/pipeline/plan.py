"""What one invocation is to do, decided before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_brt.reproduce.strategy import Strategy
from pytest_brt.types import Issue, JudgedTest, Patch, Review

if TYPE_CHECKING:  # only a run that ranks or repairs imports what that needs
    from pytest_brt.agents.loop import Agent
    from pytest_brt.pipeline.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of work that is shown: a patch, or a run of a strategy of tests or of fixes."""

    #: Id of the report, "" without one.
    issue: str
    #: The patch that is judged; None for a run of a strategy.
    patch: Patch | None = None
    strategy: str = ""
    #: 0-based number of the run within its strategy.
    index: int = 0
    #: What it is called: the patch's name, or as in "agent-03", or "libro" where there is one.
    name: str
    #: Whether the strategy writes fixes.
    is_repair: bool = False

    @classmethod
    def of(cls, issue: str, patch: Patch) -> Job:
        """Return the job to judge a patch."""
        return cls(issue=issue, patch=patch, name=patch.name)

    @property
    def key(self) -> tuple[str, str, str]:
        """What a run of a strategy is kept by."""
        return self.issue, self.strategy, str(self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, decided before anything runs."""

    issues: tuple[Issue, ...] = ()
    #: By name, in the order in which they are tried.
    strategies: Mapping[str, Strategy]
    #: Finds and judges the tests that were given; called once.
    given: Callable[[], tuple[JudgedTest, ...]] | None = None
    patches: tuple[Patch, ...] = ()
    #: What a person said of tests that were made before, by id.
    reviews: Mapping[str, Review] = field(default_factory=dict)
    #: Id of the report that patches are ranked for, those of a repair too; "" for none.
    ranked: str = ""
    #: Strategies that write fixes, and places that the user names for them, as in PATH:FIRST-LAST.
    agents: Mapping[str, Agent] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    #: Seconds for running existing tests on the patches; 0 is none, None a few for each patch.
    guard: float | None = 0.0
    #: Wall-clock seconds, from the start on, in which models may be asked.
    budget: float = math.inf
    #: Runs patches on other machines; None for this one.
    workers: Workers | None = None
    #: What is done at a time.
    jobs: int = 1
    #: Whether likely places are looked for where a bug test was found, too.
    wants_places: bool = False

    def issue(self, job: Job) -> Issue:
        """Return the report that a job is about."""
        return next(issue for issue in self.issues if issue.id == job.issue)

    def attempts(self, issue: str) -> tuple[Job, ...]:
        """Return the runs of strategies that write tests for a report, in order."""
        if issue not in [issue.id for issue in self.issues]:
            return ()
        return _jobs(issue, {name: way.runs for name, way in self.strategies.items()})

    def fixes(self, issue: str) -> tuple[Job, ...]:
        """Return the runs of strategies that write fixes for a report, in order."""
        runs = {name: agent.runs for name, agent in self.agents.items()}
        return _jobs(issue, runs, is_repair=True) if issue == self.ranked else ()


def _jobs(issue: str, runs: Mapping[str, int], *, is_repair: bool = False) -> tuple[Job, ...]:
    return tuple(
        Job(
            issue=issue,
            strategy=name,
            index=index,
            name=f"{name}-{index:02}" if number > 1 else name,
            is_repair=is_repair,
        )
        for name, number in runs.items()
        for index in range(number)
    )
