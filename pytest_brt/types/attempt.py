"""What one run of one strategy made of a report, and what else there is to say of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_brt.types.candidate import JudgedTest
from pytest_brt.types.cost import Cost
from pytest_brt.types.dialogue import Ending, Trajectory
from pytest_brt.types.note import Fix, Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What one run of one strategy made of one issue."""

    issue: str
    strategy: str
    #: 0-based number of the run within its strategy.
    index: int
    #: Every test considered, best first.
    tests: tuple[JudgedTest, ...]
    #: Why the report's own code gave no bug test, in order; () when it gave one.
    misses: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    #: Tests that pass, of what the report complains about: only where no other was found.
    settled: tuple[JudgedTest, ...] = ()
    #: What made the first of them pass, as far as that was looked for.
    fix: Fix | None = None
    seconds: float = 0.0
    #: What a model was paid for it.
    cost: Cost = field(default_factory=Cost)
    #: The dialogues with a model, in order; none where it was not a dialogue.
    trajectories: tuple[Trajectory, ...] = ()
    #: How each sample of a prompt ended, for ways of working that have no dialogue.
    endings: tuple[Ending, ...] = ()
