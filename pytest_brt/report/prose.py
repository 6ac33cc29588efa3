"""Sentences of a report, and the code that people put into them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_brt.types import Block, BlockKind

_END = re.compile(
    r"(?<=[.!?])(?:[\"')\]]*)\s+(?=[A-Z`\"'(*_\[0-9])|\n\s*(?=[-*+•]\s|\d+[.)]\s)|\n\n+"
    # Labels with their values on lines of their own: "**Actual**: 0", "Expected result: 5".
    r"|\n\s*(?=\*\*[^*\n]{1,40}(?:\*\*\s*:|:\*\*)"
    r"|(?i:expected|actual|observed|current|got|result|should be)(?:[ ][a-z]+){0,2}\s*:)"
)
_CODE = re.compile(r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)", re.DOTALL)
_BLANKS = re.compile(rf"(?P<span>{_CODE.pattern})|\s+", re.DOTALL)
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|resp|approx)\.$", re.IGNORECASE)
#: Characters of a sentence that are read; more is a log.
_LONGEST = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of prose, or a heading."""

    #: As it was written, with code between backticks.
    text: str
    #: The same with §0§, §1§ … in place of its pieces of code.
    masked: str
    code: tuple[str, ...]
    #: 1-based line in the report where it starts.
    line: int


def sentences(block: Block) -> tuple[Sentence, ...]:
    """Return the sentences of a prose block or heading; of other blocks, none."""
    if block.kind is BlockKind.HEADING:
        return (sentence(block.text, block.line),)
    if block.kind is not BlockKind.PROSE:
        return ()
    # The first tick stays: a sentence may start with code.
    masked = _CODE.sub(lambda match: f"`{'x' * (len(match[0]) - 1)}", block.text)
    parts: list[Sentence] = []
    start = 0
    for match in [*_END.finditer(masked), None]:
        end = match.start() if match else len(masked)
        if match and _ABBREVIATION.search(masked[start:end]):
            continue
        if block.text[start:end].strip():
            line = block.line + block.text[:start].count("\n")
            parts.append(sentence(block.text[start:end], line))
        start = match.end() if match else end
    return tuple(parts)


def sentence(text: str, line: int) -> Sentence:
    """Return one sentence with the code in it; only outside of code are blanks made one."""
    flat = _BLANKS.sub(
        lambda match: re.sub(r"\n[ \t]*", " ", match["span"]) if match["span"] else " ",
        text.strip()[:_LONGEST],
    )
    code: list[str] = []

    def mask(match: re.Match[str]) -> str:
        code.append(match["code"].strip().removeprefix(">>>").strip())
        return f"§{len(code) - 1}§"

    masked = _CODE.sub(mask, flat.replace("§", "?"))
    return Sentence(text=flat, masked=masked, code=tuple(code), line=line)
