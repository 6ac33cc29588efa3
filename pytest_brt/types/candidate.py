"""Tests that may reproduce a bug, the oracles that they rest on, and what is known of them."""

from __future__ import annotations

from enum import StrEnum

from pytest_brt.types.patch import FileChange
from pytest_brt.types.run import Raised, TestRun, Verdict
from pytest_brt.types.value import value


class OracleKind(StrEnum):
    """A kind of oracle: one row each; a rule of `oracle.rules` drafts tests of it."""

    NO_RAISE = "no-raise"
    MUST_RAISE = "must-raise"
    EQUALS = "equals-expected"
    GONE = "observed-gone"
    NO_TRACEBACK = "no-traceback"
    #: By a person or a model, not by a rule.
    WRITTEN = "written"


@value
class Oracle:
    """Why a test's failure is held to be the bug."""

    kind: OracleKind
    #: One sentence for the reader, from the report; becomes the test's docstring.
    sentence: str


class Author(StrEnum):
    """Whose test it is; each is judged in the same way."""

    #: Made from what the report shows, without a model.
    REPORT = "report"
    MODEL = "model"
    PATCH = "patch"
    PERSON = "person"


@value
class Origin:
    """Who wrote a test, so that it can be written again."""

    strategy: str
    model: str = ""
    seed: int = 0
    #: Id of the test it was made from, or "".
    parent: str = ""
    #: Names of the patches that brought it, and where those come from, as far as that is known.
    patches: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def author(self) -> Author:
        """Whose test it is."""
        if self.patches:
            return Author.PATCH
        if self.strategy == "given":
            return Author.PERSON
        return Author.MODEL if self.model else Author.REPORT


@value
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
    #: Fixtures and data that came with it.
    support: tuple[FileChange, ...] = ()


#: From this confidence on a failing test counts: it decides which patch leads, is written, and ends
#: the search.
COUNTS = 0.6
#: From this confidence on, of at least so many tests measured, it is said to reproduce the report.
_REPRODUCES, _ENOUGH = 0.8, 20


class Evidence(StrEnum):
    """What a failing test rests on, as far as it was measured how often that is right."""

    #: The exception that the report shows, with its message, comes out of the project.
    REPORTED_EXCEPTION = "reported-exception"
    #: Another exception, or one that the report only speaks of.
    EXCEPTION = "exception"
    #: The report states what the very call should give.
    STATED_VALUE = "stated-value"
    #: The result that the report complains about comes out.
    REPORTED_VALUE = "reported-value"
    OTHER = "other"
    #: The reporter's own test.
    OWN_TEST = "own-test"
    #: A patch brought the test.
    PATCH_TEST = "patch-test"


@value
class Measured:
    """How many tests with the same evidence were right, on reports no rule was written with."""

    right: int
    of: int

    @property
    def confidence(self) -> float:
        """How likely the next such test is right: a half where none was measured."""
        return (self.right + 2) / (self.of + 4)


@value
class Judgement:
    """What the runs on the buggy tree say about a test."""

    verdict: Verdict
    #: FAIL on the buggy tree, every time, for a reason that can be named.
    candidate: bool
    reason: str
    #: How likely the test is right, in 0..1: 0 when not a candidate, 1 where a person says so.
    confidence: float
    runs: tuple[TestRun, ...] = ()
    #: What it rests on; None for tests of people and models.
    evidence: Evidence | None = None
    #: Where the confidence is from; None where something else speaks for or against the test.
    measured: Measured | None = None

    @property
    def counts(self) -> bool:
        """Whether the test is believed: it fails, and that is likely enough to be the bug."""
        return self.candidate and self.confidence >= COUNTS

    @property
    def reproduces(self) -> bool:
        """Whether it may be said that the test reproduces the report.

        That was measured often enough, or a person says so.
        """
        if self.measured is None:
            return self.candidate and self.confidence == 1
        return self.confidence >= _REPRODUCES and self.measured.of >= _ENOUGH


class Review(StrEnum):
    """What a person said about a test."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@value
class JudgedTest:
    """A test together with its judgement."""

    test: CandidateTest
    judgement: Judgement
    review: Review = Review.OPEN


class Check(StrEnum):
    """What makes a test a bug test of a report."""

    #: Does it fail on the unpatched tree?
    FAILS = "fails"
    #: Does it do so every time?
    STEADY = "steady"
    #: Does it lack nothing here: a package, a fixture, a network?
    EQUIPPED = "equipped"
    #: Does it fail for the reason that the report gives?
    AS_REPORTED = "as-reported"
    #: Does it demand nothing that the report complains about?
    HONEST = "honest"


@value
class Finding:
    """The answer to one of these questions."""

    question: Check
    #: None where it cannot be told.
    answer: bool | None
    #: Why, "" where there is nothing to say.
    said: str


@value
class Examined:
    """A test, and what was found of it."""

    #: As pytest calls it.
    test: str
    findings: tuple[Finding, ...]

    @property
    def is_bug_test(self) -> bool:
        """Whether it is a bug test of the report: all answers are yes."""
        return all(one.answer for one in self.findings)
