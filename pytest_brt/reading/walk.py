"""The one walk over a report: each block, with the heading and the sentences that announce it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pytest_brt.issue.prose import Sentence, sentences
from pytest_brt.reading.roles import heading_role, role_of
from pytest_brt.reading.steps import Role
from pytest_brt.types import Block, BlockKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A block of a report, and where it stands."""

    block: Block
    #: 0-based place among the blocks; the first heading is the title.
    number: int
    #: Role that the section's heading gives, and the heading.
    section: Role = Role.SHOWN
    heading: str = ""
    #: Sentences since the last heading or piece of code.
    recent: tuple[Sentence, ...] = ()

    @property
    def announced(self) -> tuple[Role, str]:
        """The role that what stands here has, and the words that give it."""
        last = self.recent[-1].text if self.recent else ""
        role = role_of(last)
        if role is not Role.SHOWN:
            return role, last
        if self.section is not Role.SHOWN:
            return self.section, self.heading
        return Role.SHOWN, last or self.heading

    def without_words(self) -> Stretch:
        """Return the stretch after code in it: what announced that announces nothing more."""
        return replace(self, recent=())


def walk(blocks: Iterable[Block]) -> Iterator[Stretch]:
    """Yield the blocks in order, each with what announces it."""
    section, heading = Role.SHOWN, ""
    recent: tuple[Sentence, ...] = ()
    for number, block in enumerate(blocks):
        if block.kind is BlockKind.HEADING:
            section = Role.SHOWN if number == 0 else heading_role(block.text)
            heading, recent = block.text, ()
        yield Stretch(block=block, number=number, section=section, heading=heading, recent=recent)
        if block.kind is BlockKind.PROSE:
            recent = (*recent, *sentences(block))
        elif block.kind is not BlockKind.HEADING:
            recent = ()
