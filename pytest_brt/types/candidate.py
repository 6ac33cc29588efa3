"""Tests that may reproduce a bug, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.oracle import Oracle
from pytest_brt.types.outcome import Raised, TestRun, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who wrote a test, so that it can be written again."""

    strategy: str
    model: str = ""
    seed: int = 0
    #: Id of the test it was made from, or "".
    parent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTest:
    """A test that may reproduce a bug; whether it does, its Judgement says."""

    id: str
    #: Function name, with the class in front where there is one ("TestX::test_y").
    name: str
    #: Id of the issue, or "" for tests a person gave.
    issue: str
    origin: Origin
    oracle: Oracle
    #: Where the module is placed in the tree.
    path: str
    #: A whole test module that stands alone; None when `path` already holds it.
    source: str | None
    #: The existing test file it would be added to, or "".
    host: str = ""
    #: What the report says the failure looks like, for `judge`.
    expects: Raised | None = None


#: From this confidence on a failing test is said to reproduce the report; below it, it is only
#: possible that it does. Measured on reports that no rule was written with (docs/replay.md).
REPRODUCES = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the runs on the buggy tree say about a test."""

    verdict: Verdict
    #: FAIL on the buggy tree, every time, for a reason that can be named.
    candidate: bool
    reason: str
    #: Probability that the test is F→P, in 0..1, 0 when not a candidate.
    confidence: float
    runs: tuple[TestRun, ...] = ()
    #: Samples or runs of its strategy that fail alike, this one too, and how many there were.
    agree: int = 1
    samples: int = 1

    @property
    def reproduces(self) -> bool:
        """Whether the test is believed: it fails, and that is likely enough to be the bug."""
        return self.candidate and self.confidence >= REPRODUCES


class Review(StrEnum):
    """What a person said about a test."""

    OPEN = "not reviewed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTest:
    """A test together with its judgement."""

    test: CandidateTest
    judgement: Judgement
    review: Review = Review.OPEN
