"""Oracles: by what a test tells wrong from right, and all that is known of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class OracleKind(StrEnum):
    """A kind of oracle: one row each; a rule of `oracle.rules` drafts tests of it.

    ``bench/replay.py`` measured the priors.
    """

    #: What the names of such tests end in.
    called: str
    #: Share of F→P tests, in 0..1, where the report states plainly what the test rests on.
    prior: float
    #: What it means that the test fails; "" when the exception tells.
    failure: str
    #: What the test sees on the unpatched tree is the value that the report complains about.
    sees_wrong_value: bool

    def __new__(
        cls,
        slug: str,
        called: str,
        prior: float,
        failure: str,
        sees_wrong_value: bool = False,
    ) -> Self:
        """Make the member of one row."""
        member = str.__new__(cls, slug)
        member._value_ = slug
        member.called, member.prior = called, prior
        member.failure, member.sees_wrong_value = failure, sees_wrong_value
        return member

    NO_RAISE = ("no-raise", "does_not_raise", 0.70, "")
    MUST_RAISE = ("must-raise", "raises", 0.40, "no exception is raised")
    # fmt: off
    EQUALS = (
        "equals-expected", "gives_expected", 0.50,
        "returns a different value than the report expects", True,
    )
    GONE = ("observed-gone", "not_as_reported", 0.42, "still returns the reported value", True)
    AGREE = ("sibling-agreement", "agrees", 0.55, "two results differ that should be equal")
    NO_PRINT = (
        "output-lacks", "output_not_as_reported", 0.45, "still prints what is reported", True,
    )
    EXIT_STATUS = ("exit-status", "exit_status", 0.50, "the command fails")
    #: By a person or a model, not by a rule.
    WRITTEN = ("written", "holds", 0.60, "its claim does not hold")
    # fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """Why a test's failure is held to be the bug."""

    kind: OracleKind
    #: One sentence for the reader, from the report; becomes the test's docstring.
    sentence: str
    #: Probability, in 0..1, that a test that fails so is F→P.
    prior: float
