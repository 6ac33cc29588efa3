"""The one walk over a report, and what has been read of it so far."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from pytest_brt.issue.prose import sentences
from pytest_brt.issue.snippets import Statement
from pytest_brt.issue.tracebacks import final_exception
from pytest_brt.issue.words import heading_role, role_of
from pytest_brt.syntax.names import names_of
from pytest_brt.syntax.parse import parse
from pytest_brt.types import Block, BlockKind, Miss
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole, ReportStep, Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A block of a report, and where it stands."""

    block: Block
    #: 0-based place among the blocks; the first heading is the title.
    number: int
    #: Role that the section's heading gives, and the heading.
    section: ClaimRole = ClaimRole.SHOWN
    heading: str = ""
    #: Sentences since the last heading or piece of code.
    recent: tuple[Sentence, ...] = ()

    @property
    def announced(self) -> tuple[ClaimRole, str]:
        """The role that what stands here has, and the words that give it."""
        last = self.recent[-1].text if self.recent else ""
        role = role_of(last)
        if role is not ClaimRole.SHOWN:
            return role, last
        if self.section is not ClaimRole.SHOWN:
            return self.section, self.heading
        return ClaimRole.SHOWN, last or self.heading

    def without_words(self) -> Stretch:
        """Return the stretch after code in it: what announced that announces nothing more."""
        return replace(self, recent=())


def walk(blocks: Iterable[Block]) -> Iterator[Stretch]:
    """Yield the blocks in order, each with what announces it."""
    section, heading = ClaimRole.SHOWN, ""
    recent: tuple[Sentence, ...] = ()
    for number, block in enumerate(blocks):
        if block.kind is BlockKind.HEADING:
            section = ClaimRole.SHOWN if number == 0 else heading_role(block.text)
            heading, recent = block.text, ()
        yield Stretch(block=block, number=number, section=section, heading=heading, recent=recent)
        if block.kind is BlockKind.PROSE:
            recent = (*recent, *sentences(block))
        elif block.kind is not BlockKind.HEADING:
            recent = ()


_NOWHERE = Stretch(block=Block(kind=BlockKind.PROSE, text="", line=1), number=0)


@dataclass(slots=True)
class Reading:
    """What has been read so far."""

    steps: list[ReportStep] = field(default_factory=list)
    #: Code in sentences, by its source.
    inline: dict[str, ReportStep] = field(default_factory=dict)
    misses: list[Miss] = field(default_factory=list)
    #: The block that is being read.
    place: Stretch = _NOWHERE
    #: Claims about the code that comes next.
    ahead: list[Claim] = field(default_factory=list)
    #: Variables of the report so far.
    bound: set[str] = field(default_factory=set)
    #: Indices of the steps of the last code block.
    latest: list[int] = field(default_factory=list)
    #: What was announced of that block.
    latest_role: ClaimRole = ClaimRole.SHOWN


def merged(old: tuple[Claim, ...], new: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Return both, without doubles."""
    return tuple(dict.fromkeys([*old, *new]))


def say(reading: Reading, index: int, claim: Claim) -> None:
    """Note that `claim` is made of statement number `index`."""
    step = reading.steps[index]
    reading.steps[index] = replace(step, claims=merged(step.claims, (replace(claim, subject=""),)))


def add_inline(reading: Reading, source: str, line: int, said: tuple[Claim, ...]) -> None:
    """Add code from a sentence, or what is said of it when it is there already."""
    new = ReportStep(source=source, line=line, block=-1 - len(reading.inline), inline=True)
    step = reading.inline.get(source, new)
    reading.inline[source] = replace(step, claims=merged(step.claims, said))


def add_step(reading: Reading, statement: Statement, line: int, said: tuple[Claim, ...]) -> int:
    """Add the statements of one input and return the index of the last."""
    nodes = parse(statement.source).body
    sources = [ast.unparse(node) for node in nodes] if len(nodes) > 1 else [statement.source]
    for number, source in enumerate(sources):
        reading.steps.append(
            ReportStep(
                source=source,
                line=line,
                block=reading.place.number,
                claims=said if number == len(sources) - 1 else (),
            )
        )
    return len(reading.steps) - 1


def close_block(reading: Reading, added: list[int]) -> None:
    """End a block of code: what was announced belongs to its statements."""
    if not added:
        return
    ahead, reading.ahead = reading.ahead, []
    reading.latest_role = reading.place.announced[0]
    reading.place = reading.place.without_words()
    reading.latest = added
    for claim in ahead:
        several = claim.kind in (ClaimKind.RAISES, ClaimKind.WORKS)
        for index in added if several else added[-1:]:
            say(reading, index, claim)
    for index in added:
        reading.bound |= names_of(reading.steps[index].source).bound


def displayed(output: str, role: ClaimRole, sentence: str) -> Claim:
    """Return what the output below a statement says of it."""
    raised = final_exception(output)
    kind = ClaimKind.VALUE if raised is None else ClaimKind.RAISES
    return Claim(kind=kind, role=role, raised=raised, text=output, sentence=sentence, direct=True)


def displays_value(source: str) -> bool:
    """Say whether a statement shows the value of an expression."""
    return isinstance(parse(source).body[-1], ast.Expr)
