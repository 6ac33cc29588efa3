"""What a report says, statement by statement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.issue import Issue
from pytest_brt.types.outcome import Raised


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing that the report says about one statement."""

    kind: ClaimKind
    role: ClaimRole
    #: The value or output as written.
    text: str = ""
    #: The exception of RAISES.
    raised: Raised | None = None
    #: The sentence that it stands in; "" where it is output, or a comment.
    sentence: str = ""

    @property
    def exception(self) -> str:
        """The simple name of the exception, "" where it is about none."""
        return self.raised.type.rpartition(".")[2] if self.raised else ""


@dataclass(frozen=True, slots=True, kw_only=True)
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
        return tuple(c for c in self.claims if c.kind is kind and (not roles or c.role in roles))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportersTest:
    """A test that stands in a report."""

    #: As pytest knows it below its file: "test_a", "TestX::test_a".
    name: str
    #: The report's statements that it needs, imports among them.
    setup: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Lines of a report's code that are not read, since they are not Python."""

    #: 1-based, in the report; the last of them belongs to it.
    line: int
    end_line: int
    #: The first of them.
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
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
