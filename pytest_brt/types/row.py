"""What tests did on a patched tree."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.types.outcome import Raised, Verdict
from pytest_brt.types.patch import Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One test on one patched tree."""

    patch: str
    test: str
    verdict: Verdict
    reason: str
    raised: Raised | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """An existing test that passed on the unpatched tree and does not on a patched one."""

    #: File and node, as in "tests/test_a.py::TestX::test_y".
    test: str
    verdict: Verdict
    #: One line.
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What the project's existing tests say about a patched tree."""

    #: Tests near the patch that pass on the unpatched tree and were run on the patched one.
    ran: int
    #: Test functions in the project's suite.
    total: int
    #: How many of those that ran execute a patched line; None where that cannot be seen.
    reached: int | None = None
    #: By what the tests were chosen: "coverage" or "names".
    by: str
    regressions: tuple[Regression, ...] = ()
    #: Tests that assert the reported wrong behaviour; failing them is no regression.
    pinned: tuple[str, ...] = ()
    #: Why fewer tests ran than could have, as in "the budget of 5 s was used up"; or "".
    cut: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Varied:
    """What a candidate test did on a patched tree after one of its literals was changed.

    Or a name that only the test gives, or nothing, to see what value it comes to.
    """

    #: Id of the candidate.
    test: str
    #: The literal that was changed, and the change, as in "5" and "5 → 6".
    literal: str
    change: str
    #: The changed module.
    source: str
    #: Whether the test decides by itself; else it only says what value it saw.
    decides: bool
    #: What it did on the unpatched tree and on the patched one: "passes", a value, or an
    #: exception with its message; one line each.
    before: str
    after: str
    #: The value that a test which passes came to without asking for it; or "".
    value: str = ""
    #: Whether only a name that the test gives was changed, on which nothing may depend.
    renamed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """An input near the reported one on which a patch shows the bug again."""

    #: The smallest such change.
    varied: Varied
    #: What other patches make of it; "" when none was needed to know better.
    others: str
    #: Changed inputs that count, and how many of them expose the patch.
    tried: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchResult:
    """A row: all tests on one patched tree."""

    patch: Patch
    #: Id of the issue it is meant to fix; "" when only tests were given.
    issue: str = ""
    applies: bool
    #: Why it does not apply; "" when it does.
    reason: str = ""
    cells: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    #: Equal for patches that are the same but for comments, layout and local names; or "".
    normal: str = ""
    #: Lines added and removed.
    size: int = 0
    #: Definitions that it changes, as in "pkg/core.py::Thing.walk".
    places: tuple[str, ...] = ()
    #: None when the project's own tests were not run on it.
    guarded: Guarded | None = None
    #: Only for a patch that passes the candidates themselves.
    varied: tuple[Varied, ...] = ()
    #: Why fewer inputs were changed than could have, as in "7 of 12 changed inputs were tried:
    #: time"; or "".
    vary_cut: str = ""
