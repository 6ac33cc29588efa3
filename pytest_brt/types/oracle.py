"""Oracles: by what a test tells wrong from right, and all that is known of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Self


class HoldsFor(Enum):
    """For which inputs the assertion of a test holds, if it is right."""

    #: It cannot be said what would be changed: a command with its files, a test somebody wrote.
    UNKNOWN = "unknown"
    #: The reported one. What should be an error need not be one with an input next to it.
    ONE = "one"
    #: Others as well, where the unpatched tree fails on them in the same way.
    MANY = "many"


class OracleKind(StrEnum):
    """A kind of oracle: one row each; a rule of `oracle.rules` drafts tests of it.

    The priors were measured by ``bench/replay.py``; the shares of wrong patches that pass a right
    test come from published candidate patches (docs/ranking.md).
    """

    #: What the names of such tests end in.
    called: str
    #: Share of F→P tests, in 0..1, where the report states plainly what the test rests on.
    prior: float
    #: Share of wrong patches that pass such a test though it is right, in 0..1.
    leniency: float
    #: What it means that the test fails; "" when the exception tells.
    failure: str
    holds_for: HoldsFor
    #: What the test sees on the unpatched tree is the value that the report complains about.
    sees_wrong_value: bool

    def __new__(
        cls,
        slug: str,
        called: str,
        prior: float,
        leniency: float,
        failure: str,
        holds_for: HoldsFor,
        sees_wrong_value: bool = False,
    ) -> Self:
        """Make the member of one row."""
        member = str.__new__(cls, slug)
        member._value_ = slug
        member.called, member.prior, member.leniency = called, prior, leniency
        member.failure, member.holds_for = failure, holds_for
        member.sees_wrong_value = sees_wrong_value
        return member

    # fmt: off
    NO_RAISE = (
        "no-raise", "does_not_raise", 0.70, 0.30, "", HoldsFor.MANY,
    )
    MUST_RAISE = (
        "must-raise", "raises", 0.40, 0.20, "no exception is raised", HoldsFor.ONE,
    )
    EQUALS = (
        "equals-expected", "gives_expected", 0.50, 0.12,
        "returns a different value than the report expects", HoldsFor.ONE, True,
    )
    GONE = (
        "observed-gone", "not_as_reported", 0.42, 0.45, "still returns the reported value",
        HoldsFor.ONE, True,
    )
    AGREE = (
        "sibling-agreement", "agrees", 0.55, 0.20, "two results differ that should be equal",
        HoldsFor.MANY,
    )
    NO_PRINT = (
        "output-lacks", "output_not_as_reported", 0.45, 0.45, "still prints what is reported",
        HoldsFor.UNKNOWN, True,
    )
    EXIT_STATUS = (
        "exit-status", "exit_status", 0.50, 0.25, "the command fails", HoldsFor.UNKNOWN,
    )
    #: By a person or a model, not by a rule.
    WRITTEN = (
        "written", "holds", 0.60, 0.15, "its claim does not hold", HoldsFor.UNKNOWN,
    )
    # fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """Why a test's failure is held to be the bug."""

    kind: OracleKind
    #: One sentence for the reader, from the report; becomes the test's docstring.
    sentence: str
    #: Probability, in 0..1, that a test that fails so is F→P.
    prior: float
