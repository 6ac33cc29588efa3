"""What a report says, statement by statement: the words of the replay strategy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.issue import Block, Issue
from pytest_brt.types.miss import Miss
from pytest_brt.types.outcome import Raised


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of code in a sentence, mostly between backticks."""

    text: str
    #: Where it stands within the sentence, the ticks included.
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of prose, or a heading."""

    text: str
    #: 1-based line in the report where its paragraph starts.
    line: int
    spans: tuple[Span, ...] = ()


class ClaimRole(StrEnum):
    """What a report holds of a value, an exception or an output."""

    #: It happens, and that is the complaint.
    OBSERVED = "observed"
    #: It ought to happen.
    EXPECTED = "expected"
    #: It happens, or happened elsewhere, and is fine: another call, an older version.
    CONTRAST = "contrast"
    #: It is shown without a word; nearly always what the reporter's buggy version did.
    SHOWN = "shown"


class ClaimKind(StrEnum):
    """What the report speaks of."""

    VALUE = "value"
    RAISES = "raises"
    #: No exception: "should work", "must not raise".
    WORKS = "works"
    #: Something is wrong with it, without saying what.
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing that the report says about one statement."""

    kind: ClaimKind
    role: ClaimRole
    #: The value or output as written; "" for exceptions without a name.
    text: str = ""
    #: For RAISES: type "" when the report does not name it.
    raised: Raised | None = None
    #: The words it stands in, for the reader.
    sentence: str = ""
    #: Shown right below the statement, as in a session, and not in prose.
    direct: bool = False
    #: Source of the expression it speaks of; "" for the code before (or after) the sentence.
    subject: str = ""

    @property
    def exception(self) -> str:
        """The simple name of the exception that it speaks of, "" where it names none."""
        return self.raised.type.rpartition(".")[2] if self.raised else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportStep:
    """One statement of a report and what is said about it."""

    source: str
    #: 1-based line in the report.
    line: int
    #: Number of the block it stands in; inline code has numbers of its own.
    block: int
    claims: tuple[Claim, ...] = ()
    #: Taken from a sentence, so run after all blocks, for its value only.
    inline: bool = False

    def said(self, kind: ClaimKind, *roles: ClaimRole) -> tuple[Claim, ...]:
        """Return the claims of that kind in one of `roles`, or in any where none is given."""
        return tuple(c for c in self.claims if c.kind is kind and (not roles or c.role in roles))

    @property
    def is_marked(self) -> bool:
        """Whether it is marked as wrong right where it stands."""
        return any(claim.direct for claim in self.said(ClaimKind.WRONG))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTest:
    """A test that somebody wrote into a report."""

    #: As pytest knows it below its file: "test_a", "TestX::test_a".
    name: str
    #: The report's statements that it needs, imports among them, and the test itself.
    needs: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockInContext:
    """A block of a report, and what is said around it."""

    block: Block
    #: 0-based place among the blocks; the first heading is the title.
    number: int
    #: What the section that it stands in speaks of, by its heading.
    section: ClaimRole
    #: The role of what stands here, and the words that give it: right above, or the heading.
    role: ClaimRole
    words: str
    #: Its own sentences, where it is prose or a heading.
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All that is read of a report."""

    issue: Issue
    blocks: tuple[BlockInContext, ...]
    #: Its statements in the order in which they are to be run; code from sentences comes last.
    steps: tuple[ReportStep, ...]
    #: The tests that the reporter wrote.
    tests: tuple[OwnTest, ...] = ()
    #: Exceptions that it shows or names anywhere.
    named: tuple[Raised, ...] = ()
    #: Simple names of the exceptions that its words ask for.
    wanted: frozenset[str] = frozenset()
    #: What could not be read.
    misses: tuple[Miss, ...] = ()

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """All sentences, headings among them."""
        return tuple(sentence for place in self.blocks for sentence in place.sentences)
