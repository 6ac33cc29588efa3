"""What one invocation is to do, decided before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_brt.reproduce.strategy import Strategy
from pytest_brt.types import Issue, JudgedTest, Patch

if TYPE_CHECKING:  # only a run that ranks, repairs or localises imports what that needs
    from pytest_brt.agents.loop import Agent
    from pytest_brt.run.repairs import RepairPlan
    from pytest_brt.run.workers import Workers
    from pytest_brt.sandbox.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptKey:
    """Names one run of one strategy on one issue."""

    issue: str
    strategy: str
    index: int


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
class Remote:
    """The workers of a cluster, and how they shut tests in."""

    workers: Workers
    sandbox: str
    net: str
    show: tuple[str, ...]
    limits: Limits


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
    #: Wall-clock seconds, from the first attempt on, in which models may be asked.
    budget: float = math.inf
    repairs: RepairPlan | None = None
    #: Runs patches on other machines; None for this one.
    remote: Remote | None = None

    def repair_keys(self, case: Case) -> tuple[AttemptKey, ...]:
        """Return the repairs of `case`, in order."""
        plan = self.repairs
        return _runs(case, plan.strategies) if plan and case.issue_id in plan.issues else ()

    def keys(self, case: Case) -> tuple[AttemptKey, ...]:
        """Return the attempts at `case`, in order."""
        return _runs(case, self.strategies) if case.issue else ()


def _runs(
    case: Case, strategies: Mapping[str, Strategy] | Mapping[str, Agent]
) -> tuple[AttemptKey, ...]:
    return tuple(
        AttemptKey(issue=case.issue_id, strategy=name, index=index)
        for name, strategy in strategies.items()
        for index in range(strategy.runs)
    )
