"""Where a bug may be, and fixes that were found for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pytest_brt.types.attempt import Cost, Trajectory
from pytest_brt.types.patch import Patch
from pytest_brt.types.row import Guarded


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A function, class or file where the bug may be."""

    path: str
    #: Qualified name, or "" for the file as a whole.
    function: str
    #: 1-based span; the whole file is (1, 0).
    line: int
    end_line: int
    #: Sum of three signs, in 0..3; 0 for a place that the user gave.
    score: float = 0.0
    #: Its most suspicious lines in their order, as far as tests were watched.
    lines: tuple[int, ...] = ()
    #: Of its most suspicious line; None when no test was watched. DStar has no upper bound: a
    #: line that exactly the failing tests run is at infinity, which is -1 here.
    ochiai: float | None = None
    dstar: float | None = None
    tarantula: float | None = None
    #: For the reader, the weightiest first.
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Localised:
    """Where the bug of one issue may be."""

    issue: str
    #: Likeliest first.
    places: tuple[Place, ...]
    #: Tests that were watched: failing because of the bug, and passing ones nearby.
    failing: int = 0
    passing: int = 0
    #: By what they were watched: "coverage", "trace" or "" for not at all.
    by: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFix:
    """A candidate fix that a repair wrote, and what is known of it."""

    patch: Patch
    #: Equal for fixes that make equal trees, but for comments and layout.
    key: str
    #: As in "the agent" or "a variant".
    source: str
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
