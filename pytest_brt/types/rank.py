"""Where patches stand among each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.row import Exposure, PatchResult


class Standing(StrEnum):
    """How sure the order is at a patch's place."""

    #: The evidence tells it from the leading patches, or it leads and is told from the rest.
    SEPARATED = "separated"
    #: It behaves like a leading patch on everything that could be run.
    TIED = "tied"
    #: It behaves differently from the leading patch, but not so that one is clearly better.
    CLOSE = "too close to call"
    #: Told from the leading patches only by tests that may not be about the report's bug.
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
    #: Number of its group: patches that behave alike on every test; 0 for none.
    group: int = 0
    #: Names of the patches that are the same as it after normalisation.
    copies: tuple[str, ...] = ()
    #: What moved its score, strongest first, a few words each.
    because: tuple[str, ...] = ()
    exposure: Exposure | None = None


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
class Difference:
    """An input near the report on which leading patches do not agree."""

    #: What is changed in which test, as in "5 → 6".
    change: str
    test: str
    source: str
    #: What the unpatched tree does.
    before: str
    #: What the patches do, and their names; the leading patch's answer first.
    answers: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def question(self) -> str:
        """The one thing to ask who knows what the project should do."""
        said = " or ".join(f"`{answer}`" for answer, _ in self.answers[:3])
        return f"with {self.change}, which is right: {said}?"
