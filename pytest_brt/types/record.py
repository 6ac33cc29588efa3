"""What a run found: where a bug may be, fixes, and where patches stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_brt.types.attempt import Attempt
from pytest_brt.types.candidate import JudgedTest
from pytest_brt.types.cost import Cost
from pytest_brt.types.dialogue import Trajectory
from pytest_brt.types.issue import Issue
from pytest_brt.types.note import Note
from pytest_brt.types.patch import Guarded, Patch, PatchResult
from pytest_brt.types.step import FixSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A function, class or file where the bug may be."""

    path: str
    #: Qualified name, or "" for the file as a whole.
    function: str
    #: 1-based span; the whole file is (1, 0).
    line: int
    end_line: int
    #: How much points at it, as a share of the likeliest; 0 for a place that the user gave.
    score: float = 0.0
    #: Lines of it that a traceback of the report names.
    lines: tuple[int, ...] = ()
    #: What points at it, the weightiest first.
    clues: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Localised:
    """Where the bug of one issue may be."""

    issue: str
    #: Likeliest first.
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFix:
    """A candidate fix that a repair wrote, and what is known of it."""

    patch: Patch
    #: Equal for fixes that make equal trees, but for comments and layout.
    key: str
    source: FixSource
    #: It passes the failing tests that are to be trusted, and breaks no other that was run.
    plausible: bool
    #: Names of the tests that failed before and pass with it, and how many there are.
    passed: tuple[str, ...] = ()
    total: int = 0
    #: What the bug was held to be, or "".
    hypothesis: str = ""
    #: None when the project's own tests were not run.
    guarded: Guarded | None = None

    @property
    def broken(self) -> int:
        """How many existing tests fail with it that passed before."""
        return len(self.guarded.regressions) if self.guarded else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What one run of one repair strategy made of one issue."""

    issue: str
    strategy: str
    #: 0-based number of the run within its strategy.
    index: int
    #: Also those that pass the failing tests and break existing ones: a person is to judge.
    fixes: tuple[FoundFix, ...]
    #: Name of the failing test that the model was given, or "".
    brt: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    cost: Cost = field(default_factory=Cost)
    trajectory: Trajectory | None = None


def distinct(repairs: Iterable[Repair]) -> tuple[tuple[FoundFix, Repair], ...]:
    """Return the fixes of several repairs, of equal ones only the first.

    Plausible ones come first, and those that break existing tests last.
    """
    found: dict[str, tuple[FoundFix, Repair]] = {}
    for repair in repairs:
        for fix in repair.fixes:
            found.setdefault(fix.key, (fix, repair))
    return tuple(sorted(found.values(), key=lambda pair: (pair[0].broken, not pair[0].plausible)))


class Standing(StrEnum):
    """How sure the order is at a patch's place."""

    #: It leads, the odds tell it from all others, a believed test and existing tests support it.
    SEPARATED = "separated"
    #: The odds tell it from the leading patch.
    BEHIND = "behind"
    #: The same tests pass on it as on a leading patch.
    TIED = "tied"
    #: It behaves differently from the leading patch, but not so that one is clearly better.
    CLOSE = "too-close"
    #: It leads by the odds, and what that rests on is not enough to say so (`Rank.doubt`).
    UNSURE = "unsure"
    NO_EVIDENCE = "no-evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Where a patch stands among the others (EPR: paper 001, section on fix selection)."""

    result: PatchResult
    #: Share of candidate BRTs with a valid cell that pass, in 0..1; None without any.
    epr: float | None
    passed: int
    total: int
    #: First and last place that it may have: those of the patches that share it.
    place: tuple[int, int] | None = None
    #: Probability that the patch is right, as the weighted ranker estimates it; in 0..1.
    score: float | None = None
    standing: Standing | None = None
    #: Why it does not lead clearly, though the odds say so.
    doubt: Note | None = None
    #: What the strongest sure test rests on that the first patch passes; "" for all others.
    leads_by: str = ""
    #: Number of its group: patches on which the same tests pass; 0 for none.
    group: int = 0
    #: Names of the patches that make the same program.
    copies: tuple[str, ...] = ()
    #: What moved its score, strongest first, a few words each.
    because: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The patch's."""
        return self.result.patch.name


def tied(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return the patches that share the first place; copies of the first are not among them."""
    standing = ranks[0].standing if ranks else None
    if standing not in (Standing.TIED, Standing.CLOSE):
        return ()
    return tuple(r for r in ranks if r.standing is standing and r.name not in ranks[0].copies)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """The patches that should have been run and were not, or not to the end."""

    #: Their names.
    patches: tuple[str, ...]
    #: How many patches there are, with these.
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the call gives on some patches."""

    #: Names of the patches.
    patches: tuple[str, ...]
    #: The value as Python shows it; "" where it raises.
    text: str = ""
    #: Type of the exception; "" for a value.
    raised: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """The smallest call found on which leading patches differ; none of them is right for that."""

    #: Id of the bug test whose call was varied.
    test: str
    #: What is run first, imports among it, and the expression.
    setup: tuple[str, ...]
    expression: str
    #: What it gives, in the order of the patches.
    gives: tuple[Given, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """All that one invocation found out."""

    issues: tuple[Issue, ...]
    attempts: tuple[Attempt, ...]
    #: Tests that a person gave or an earlier run wrote.
    given: tuple[JudgedTest, ...]
    #: Tests that patches brought.
    brought: tuple[JudgedTest, ...] = ()
    #: Id of the report that patches are ranked for, "" where only tests were given.
    ranked: str = ""
    ranks: tuple[Rank, ...]
    #: How tests were isolated.
    sandbox: str
    repairs: tuple[Repair, ...] = ()
    localised: tuple[Localised, ...] = ()
    #: What the ranking lacks: it was interrupted, or running them went wrong.
    not_run: NotRun | None = None
    #: Calls on which leading patches differ that nothing else tells apart.
    tellings: tuple[Telling, ...] = ()
    #: How many calls were tried on patches to find one.
    tried: int = 0
