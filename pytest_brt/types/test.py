"""A test: what it rests on, what happens when it runs, and how it is judged."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import ClassVar

from pytest_brt.types.note import value


class CauseCode(StrEnum):
    """What decided a verdict, where that makes a difference."""

    PASSED = "passed"
    #: The body of the test failed.
    RAISED = "raised"
    #: The test and the project disagree about a name or a call.
    MISMATCH = "mismatch"
    #: A limit of the machine was met, that other runs share.
    SHORT = "machine-limit"
    DISK_FULL = "disk-full"
    NOT_COLLECTED = "not-collected"
    TOO_SLOW = "test-too-slow"
    #: All tests of a tree took too long, so nothing is known of this one.
    TREE_TOO_SLOW = "tree-too-slow"
    OTHER = "other"


@value
class Cause:
    """Why a test has its verdict."""

    code: CauseCode
    #: On one line.
    text: str

    @property
    def is_uncollected(self) -> bool:
        """Whether the file cannot even be imported, or a conftest.py above it."""
        return self.code is CauseCode.NOT_COLLECTED


class Verdict(StrEnum):
    """What one test did on one tree."""

    PASS = "PASS"
    FAIL = "FAIL"
    #: The test itself is wrong: collection, fixture, import or name error in its own frame.
    BROKEN = "BROKEN"
    TIMEOUT = "TIMEOUT"
    CRASH = "CRASH"
    #: What the test process reported contradicts what it did.
    TAMPERED = "TAMPERED"
    SKIP = "SKIP"
    XFAIL = "XFAIL"
    FLAKY = "FLAKY"
    #: The cell says nothing: other code was imported, or the patch did not apply.
    INVALID = "INVALID"


@value
class Frame:
    """One level of a stack, outermost first in a tuple of them."""

    #: Relative to the project when `project`, else as the interpreter names it.
    path: str
    line: int
    function: str
    #: Whether the code belongs to the project under test (tests and libraries do not).
    project: bool = False


@value
class Raised:
    """An exception that was seen."""

    #: Qualified name, as in "ValueError" or "pkg.errors.ParseError".
    type: str
    message: str
    #: Qualified names of its base classes, nearest first.
    bases: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()

    @property
    def name(self) -> str:
        """Its type without the module."""
        return self.type.rpartition(".")[2]

    @property
    def in_project(self) -> Frame | None:
        """The last frame of the project, None when it came through none."""
        return next((frame for frame in reversed(self.frames) if frame.project), None)


@value
class TestRun:
    """What one test did, once, on one tree."""

    #: pytest must not take this for a test class.
    __test__: ClassVar[bool] = False

    test: str
    #: pytest's own name of the item below its file, as in "TestX::test_y[1]".
    node: str
    verdict: Verdict
    cause: Cause
    raised: Raised | None = None
    seconds: float = 0.0
    #: The end of what it printed.
    output: str = ""
    #: False when the patched lines or modules were not reached; None when not known.
    exercised: bool | None = None
    #: Whether its body ran code of the project; None when that is not known.
    used_project: bool | None = None
    #: Of each file that was to be watched: its path, and the lines executed, as the bits of a
    #: hexadecimal number.
    ran: tuple[tuple[str, str], ...] = ()
    #: CPU seconds, which do not depend on what else the machine does; 0 where it did not end.
    cpu: float = 0.0

    @property
    def raised_briefly(self) -> Raised | None:
        """Its exception without frames, which would fill the memory for thousands."""
        return replace(self.raised, frames=()) if self.raised else None

    @property
    def mismatch(self) -> bool:
        """Whether it failed because the test and the project disagree about a name or a call."""
        return self.cause.code is CauseCode.MISMATCH


@value
class Subject:
    """The project under test, as far as its interpreter was asked."""

    #: Absolute path.
    root: str
    #: Absolute path of the interpreter that runs it.
    python: str
    python_version: str = ""
    #: How the interpreter was found, for the header.
    found: str = ""
    #: Folders put on the import path, relative to the root ("src", "."), in order.
    source_roots: tuple[str, ...] = ()
    #: Top-level import names of the project's own code, tests left out.
    packages: tuple[str, ...] = ()
    #: Folder for new test files, relative to the root ("tests", "pkg/tests", ".").
    test_root: str = "."
    #: Extra environment of the test processes.
    env: tuple[tuple[str, str], ...] = ()
    #: Options of pytest that the project's tests need, as in ("-p", "asyncio").
    pytest_args: tuple[str, ...] = ()
    #: Lines of pytest's ``filterwarnings``, where some make errors of warnings.
    warnings: tuple[str, ...] = ()

    @property
    def users_path(self) -> tuple[str, ...]:
        """The folders outside of the project that the user has modules imported from."""
        return tuple(filter(None, dict(self.env).get("PYTHONPATH", "").split(os.pathsep)))

    def import_path(self, tree: str) -> tuple[str, ...]:
        """Return the project's folders to import from, where it lies in `tree`."""
        return tuple(os.path.normpath(f"{tree}/{root}") for root in self.source_roots)


@value
class FileChange:
    """The new content of one file of a tree; None deletes it."""

    path: str
    content: bytes | None
    executable: bool = False


class OracleKind(StrEnum):
    """A kind of oracle: one row each; a function of `oracle/` drafts tests of it."""

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

    kind: OracleKind = OracleKind.WRITTEN
    #: One sentence for the reader, from the report; becomes the test's docstring.
    sentence: str = "Taken as it was written."


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
    issue: str = ""
    origin: Origin
    oracle: Oracle = Oracle()
    #: Where the module is placed in the tree.
    path: str
    #: A whole test module that stands alone; None when `path` already holds it.
    source: str | None
    #: The existing test file it would be added to, or "".
    host: str = ""
    #: The exception that the statement raised on the unpatched tree, for `judge`.
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
    #: Why it is none, "" where it is one.
    reason: str = ""
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


def bug_tests(tests: Iterable[JudgedTest]) -> list[JudgedTest]:
    """Return the bug tests, the likeliest first: those that count come before all others."""
    candidates = (test for test in tests if test.judgement.candidate)
    return sorted(candidates, key=lambda judged: -judged.judgement.confidence)


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
