"""What one run of one strategy made of a report, and what else there is to say of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_brt.types.candidate import JudgedTest
from pytest_brt.types.cost import Cost
from pytest_brt.types.dialogue import Ending, Trajectory
from pytest_brt.types.fact import Fact
from pytest_brt.types.fixed import Fix
from pytest_brt.types.no_test import NoTestReason
from pytest_brt.types.outcome import Verdict


class _Note(Fact, frozen=True, kw_only=True):
    """What all notes have."""

    #: The strategy whose note it is, where another one tried several; else "".
    by: str = ""


class VerdictCount(Fact, frozen=True, kw_only=True):
    """How many tests did the same."""

    verdict: Verdict
    tests: int


class Shortened(_Note, frozen=True, kw_only=True):
    """A part of the prompt was shortened or left out, to fit the context."""

    part: str
    left_out: bool


class SamplesDrawn(_Note, frozen=True, kw_only=True):
    """What became of a model's samples."""

    samples: int
    #: Of these so many had no test that parses.
    unreadable: int
    #: Different tests, and what they do; nothing of those that did not run.
    tests: int
    verdicts: tuple[VerdictCount, ...]


class DialogueEnded(_Note, frozen=True, kw_only=True):
    """How a dialogue with a model ended."""

    ending: Ending
    steps: int
    #: More of it, in words; or "".
    said: str
    wrote: bool


class PlansFailed(_Note, frozen=True, kw_only=True):
    """No passing test could be turned into one that fails as reported."""

    said: str


class NotTried(_Note, frozen=True, kw_only=True):
    """There was no time for these."""

    #: Names of strategies.
    what: tuple[str, ...]


class ModelFailed(_Note, frozen=True, kw_only=True):
    """The model could not be asked, or not in time; `said` is its error."""

    said: str


class WithoutModel(_Note, frozen=True, kw_only=True):
    """The model never answered, and there is a result without it; `said` is its error."""

    said: str


class ModelGaveNothing(_Note, frozen=True, kw_only=True):
    """Nothing that the model wrote stands."""

    #: It wrote tests that can be run.
    wrote: bool


class PutAtTop(_Note, frozen=True, kw_only=True):
    """The tests are in the root of the project: none can be run where its own are."""

    reason: str


class Interrupted(_Note, frozen=True, kw_only=True):
    """The attempt was not at its end."""


AttemptNote = (
    Shortened
    | SamplesDrawn
    | DialogueEnded
    | PlansFailed
    | NotTried
    | ModelFailed
    | WithoutModel
    | ModelGaveNothing
    | PutAtTop
    | PutAtTop
    | Interrupted
)


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
    misses: tuple[NoTestReason, ...] = ()
    notes: tuple[AttemptNote, ...] = ()
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
