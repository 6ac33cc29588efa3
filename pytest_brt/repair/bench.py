"""What one run of one repair strategy may use."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.agent.loop import Session
from pytest_brt.agent.trajectory import Log
from pytest_brt.agent.tree import Tree
from pytest_brt.model.base import Model, Sampling
from pytest_brt.repair.bug import Bug
from pytest_brt.store import Journal
from pytest_brt.types import JudgedTest


class Without(StrEnum):
    """A part that can be switched off, to see what it is worth (paper 004, ablations)."""

    SEARCH = "search"
    STATES = "states"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairBench:
    """All that the runs of one strategy on a bug may use."""

    bug: Bug
    model: Model
    #: Writes code when another model thinks; None when one does both.
    editor: Model | None = None
    #: The test that this run is given, of strategies that give one to every other run; None when
    #: it is given none.
    brt: JudgedTest | None = None
    #: Steps that the user wants; None leaves it to the strategy.
    steps: int | None = None
    #: Variants of a fix that fails.
    variants: int = 30
    without: frozenset[Without] = frozenset()
    #: The first seed of the run; each has its own.
    seed: int = 0
    #: When all must be over, as `time.monotonic` counts.
    deadline: float = math.inf
    journal: Journal | None = None
    say: Callable[[str], None] = lambda _: None

    def log(self, strategy: str, index: int) -> Log:
        """Return where the steps of a run go."""
        return Log(self.bug.issue.id, f"repair-{strategy}-{index:02}", self.journal)

    def session(
        self,
        strategy: str,
        index: int,
        *,
        steps: int,
        sampling: Sampling,
        tree: Tree | None = None,
        observation: int = 1500,
    ) -> Session:
        """Return what run number `index` of a strategy has at hand.

        The user's number of `steps` goes first; the seed of `sampling` is the run's.
        """
        return Session(
            model=self.model,
            editor=self.editor or self.model,
            tree=tree or self.bug.tree,
            log=self.log(strategy, index),
            sampling=sampling,
            max_steps=self.steps or steps,
            purpose=strategy,
            observation=observation,
            deadline=self.deadline,
            say=self.say,
        )
