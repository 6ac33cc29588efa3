"""Where patches stand among each other, and all else that a run found out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.attempt import Attempt
from pytest_brt.types.candidate import JudgedTest
from pytest_brt.types.fix import Localised, Repair
from pytest_brt.types.issue import Issue
from pytest_brt.types.row import PatchResult


class Standing(StrEnum):
    """How sure the order is at a patch's place."""

    #: It leads, the odds tell it from all others, a believed test and existing tests support it.
    SEPARATED = "separated"
    #: The odds tell it from the leading patch.
    BEHIND = "behind"
    #: It behaves like a leading patch on everything that could be run.
    TIED = "tied"
    #: It behaves differently from the leading patch, but not so that one is clearly better.
    CLOSE = "too close to call"
    #: It leads by the odds, and what that rests on is not enough to say so (`Rank.doubt`).
    UNSURE = "unsure"
    NO_EVIDENCE = "no evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Where a patch stands among the others (EPR: paper 001, section on fix selection)."""

    result: PatchResult
    #: Share of candidate BRTs with a valid cell that pass, in 0..1; None without any.
    epr: float | None
    #: Competition rank by EPR alone, 1 is best; None without EPR.
    rank: int | None
    tied_with: tuple[str, ...]
    passed: int
    total: int
    #: Competition rank in the order that the ranker gives; `rank` where that is plain EPR.
    place: int | None = None
    #: The patches that share its place.
    placed_with: tuple[str, ...] = ()
    #: Probability that the patch is right, as the weighted ranker estimates it; in 0..1.
    score: float | None = None
    #: Where the score lies with 80 % probability; None without a score.
    interval: tuple[float, float] | None = None
    standing: Standing | None = None
    #: Why it does not lead clearly though the odds say so, in a few words; or "".
    doubt: str = ""
    #: Number of its group: patches that behave alike on every test; 0 for none.
    group: int = 0
    #: Names of the patches that are the same as it after normalisation.
    copies: tuple[str, ...] = ()
    #: What moved its score, strongest first, a few words each.
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """The patches of an issue that should have been run and were not, or not to the end."""

    #: Id of the issue; "" when only tests were given.
    issue: str
    #: Their names.
    patches: tuple[str, ...]
    #: How many patches of the issue there are, with these.
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """All that one invocation found out."""

    issues: tuple[Issue, ...]
    attempts: tuple[Attempt, ...]
    #: Tests that a person gave or an earlier run wrote.
    given: tuple[JudgedTest, ...]
    ranks: tuple[Rank, ...]
    #: Isolation level that was reached: ns, landlock, process or none.
    sandbox: str
    #: Remarks about the run as a whole.
    notes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    localised: tuple[Localised, ...] = ()
    #: Of issues whose ranking lacks patches: it was interrupted, or running them went wrong.
    not_run: tuple[NotRun, ...] = ()
