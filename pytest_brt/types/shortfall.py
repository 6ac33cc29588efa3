"""Why no more of the existing tests were run on a patch; `render` makes a sentence of it."""

from __future__ import annotations

from enum import StrEnum

from pytest_brt.types.fact import Fact


class ChosenBy(StrEnum):
    """By what existing tests were chosen."""

    #: All of them were run: none had to be chosen.
    ALL = "all"
    COVERAGE = "coverage"
    #: The names that they use.
    NAMES = "names"


class BudgetSpent(Fact, frozen=True, kw_only=True):
    """The time for one patch allows no more."""

    seconds: float


class NotCollected(Fact, frozen=True, kw_only=True):
    """A file with tests near the patch cannot be imported on the unpatched tree."""

    path: str
    #: How many other files cannot either.
    others: int


class FailBefore(Fact, frozen=True, kw_only=True):
    """Tests near the patch do not pass on the unpatched tree."""

    tests: int
    #: None is left.
    all_of_them: bool


Shortfall = BudgetSpent | NotCollected | FailBefore
