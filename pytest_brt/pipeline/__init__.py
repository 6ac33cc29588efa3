"""What one invocation is to do, decided before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_brt.reproduce.strategy import Strategy
from pytest_brt.types import Issue, JudgedTest, Patch, PatchResult, Review

if TYPE_CHECKING:  # only a run that ranks or repairs imports what that needs
    from pytest_brt.agents.loop import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of work that is shown: a patch, or a run of a strategy of tests or of fixes."""

    #: Id of the report, "" without one.
    issue: str
    #: What it is called: the patch's name, or as in "agent-03", or "libro" where there is one.
    name: str
    #: The patch that is judged; None for a run of a strategy.
    patch: Patch | None = None
    strategy: str = ""
    #: 0-based number of the run within its strategy.
    index: int = 0
    #: Whether the strategy writes fixes.
    is_repair: bool = False


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
    #: Runs a patch on another machine; None for this one.
    elsewhere: Callable[..., PatchResult] | None = None
    #: What is done at a time.
    jobs: int = 1
    #: Whether likely places are looked for where a bug test was found, too.
    wants_places: bool = False

    def attempts(self, issue: str) -> list[Job]:
        """Return the runs of strategies that write tests for a report, in order."""
        return _jobs(issue, self.strategies, is_repair=False)

    def fixes(self, issue: str) -> list[Job]:
        """Return the runs of strategies that write fixes for a report, in order."""
        return _jobs(issue, self.agents, is_repair=True) if issue == self.ranked else []

    def rows(self, patches: Iterable[Patch]) -> list[Job]:
        """Return the jobs to judge patches."""
        return [Job(issue=self.ranked, name=patch.name, patch=patch) for patch in patches]


def _jobs(issue: str, ways: Mapping[str, Strategy | Agent], *, is_repair: bool) -> list[Job]:
    return [
        Job(
            issue=issue,
            name=f"{name}-{index:02}" if way.runs > 1 else name,
            strategy=name,
            index=index,
            is_repair=is_repair,
        )
        for name, way in ways.items()
        for index in range(way.runs)
    ]
