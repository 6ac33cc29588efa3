"""A bug report: what it is made of, and what it says, statement by statement."""

from __future__ import annotations

from enum import StrEnum

from pytest_brt.types.note import value
from pytest_brt.types.test import Raised


class BlockKind(StrEnum):
    """What a stretch of a bug report is."""

    PROSE = "prose"
    HEADING = "heading"
    PYTHON = "python"
    REPL = "repl"
    TRACEBACK = "traceback"
    SHELL = "shell"
    OUTPUT = "output"
    FILE = "file"


@value
class Block:
    """A stretch of a bug report, in document order."""

    kind: BlockKind
    #: The text without fences, indentation or HTML around it.
    text: str
    #: 1-based line of its first line in the report.
    line: int
    #: The fence's language tag, lower case, or "".
    language: str = ""


@value
class Issue:
    """A bug report."""

    id: str
    title: str
    #: The whole report, newlines normalised.
    text: str
    #: Where it was read: a path as the user gave it, or "-".
    source: str
    blocks: tuple[Block, ...] = ()
    #: Characters, a log's mostly, that are in no block: there are too many.
    unread: int = 0


class ClaimRole(StrEnum):
    """What a report holds of a value or an exception."""

    #: It happens, and that is the complaint.
    ACTUAL = "actual"
    #: It ought to happen.
    EXPECTED = "expected"
    #: It happens, or happened elsewhere, and is fine: another call, an older version.
    FINE = "fine"
    #: It is shown without a word; nearly always what the reporter's buggy version did.
    SHOWN = "shown"


#: The roles of what a report complains about, and of what it calls right.
WRONG = (ClaimRole.ACTUAL, ClaimRole.SHOWN)
RIGHT = (ClaimRole.EXPECTED, ClaimRole.FINE)


class ClaimKind(StrEnum):
    """What a claim is about."""

    VALUE = "value"
    RAISES = "raises"


@value
class Claim:
    """One thing that the report says about one statement."""

    kind: ClaimKind
    role: ClaimRole
    #: The value or output as written.
    text: str = ""
    #: The exception of RAISES.
    raised: Raised | None = None

    @property
    def exception(self) -> str:
        """The simple name of the exception, "" where it is about none."""
        return self.raised.name if self.raised else ""


@value
class Statement:
    """One statement of a report and what is said about it."""

    source: str
    #: 1-based line in the report.
    line: int
    #: Number of the block it stands in; code in sentences has numbers of its own, below zero.
    block: int
    claims: tuple[Claim, ...] = ()

    @property
    def is_inline(self) -> bool:
        """Whether it stands in a sentence: it runs after all blocks."""
        return self.block < 0

    def claims_of(self, kind: ClaimKind, *roles: ClaimRole) -> tuple[Claim, ...]:
        """Return the claims of a kind in one of `roles`, in any where none is given."""
        return tuple(
            c for c in self.claims if c.kind is kind and (not roles or c.role in roles)
        )


@value
class ReportersTest:
    """A test that stands in a report."""

    #: As pytest knows it below its file: "test_a", "TestX::test_a".
    name: str
    #: The report's statements that it needs, imports among them.
    setup: tuple[str, ...]
    source: str


@value
class LeftOut:
    """Lines of a report's code that are not read, since they are not Python."""

    #: Line of the first of them, 1-based in the report, and this.
    line: int
    code: str


@value
class Reading:
    """All that is read of a report."""

    issue: Issue
    #: In the order in which they are to be run; code in sentences comes last.
    statements: tuple[Statement, ...]
    tests: tuple[ReportersTest, ...] = ()
    #: Exceptions that it shows or names anywhere.
    exceptions: tuple[Raised, ...] = ()
    #: Whether it may want an exception, or other words of one: a right fix raises too then.
    wants_exception: bool = False
    left_out: tuple[LeftOut, ...] = ()

    def claims_of(self, kind: ClaimKind, *roles: ClaimRole) -> tuple[Claim, ...]:
        """Return the claims of a kind about any statement, in one of `roles`."""
        every = (one.claims_of(kind, *roles) for one in self.statements)
        return tuple(claim for claims in every for claim in claims)
