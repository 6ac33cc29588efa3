"""Sentences of a report, and the code that people put into them."""

from __future__ import annotations

import re

from pytest_brt.types import Block, BlockKind
from pytest_brt.types.reading import Sentence, Span

_END = re.compile(
    r"(?<=[.!?])(?:[\"')\]]*)\s+(?=[A-Z`\"'(*_\[0-9])|\n\s*(?=[-*+•]\s|\d+[.)]\s)|\n\n+"
    # Labels with their values on lines of their own: "**Actual**: 0", "Expected result: 5".
    r"|\n\s*(?=\*\*[^*\n]{1,40}(?:\*\*\s*:|:\*\*)"
    r"|(?i:expected|actual|observed|current|got|result|should be)(?:[ ][a-z]+){0,2}\s*:)"
)
_CODE = re.compile(r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)", re.DOTALL)
_BLANKS = re.compile(rf"(?P<span>{_CODE.pattern})|\s+", re.DOTALL)
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|resp|approx)\.$", re.IGNORECASE)


def sentences(block: Block) -> tuple[Sentence, ...]:
    """Return the sentences of a prose block or heading; of other blocks, none."""
    if block.kind is BlockKind.HEADING:
        return (sentence(block.text, block.line),)
    if block.kind is not BlockKind.PROSE:
        return ()
    masked = _mask(block.text)
    found: list[Sentence] = []
    start = 0
    for match in [*_END.finditer(masked), None]:
        end = match.start() if match else len(masked)
        piece = block.text[start:end]
        if match and _ABBREVIATION.search(masked[start:end]):
            continue
        if piece.strip():
            line = block.line + block.text[:start].count("\n")
            found.append(sentence(piece, line))
        start = match.end() if match else end
    return tuple(found)


def sentence(text: str, line: int) -> Sentence:
    """Return one sentence with the code in it; only outside of code are blanks made one."""
    flat = _BLANKS.sub(
        lambda match: re.sub(r"\n[ \t]*", " ", match["span"]) if match["span"] else " ",
        text.strip(),
    )
    spans = tuple(
        Span(text=match["code"].strip(), start=match.start(), end=match.end())
        for match in _CODE.finditer(flat)
        if match["code"].strip()
    )
    return Sentence(text=flat, line=line, spans=spans)


def _mask(text: str) -> str:
    """Return `text` with code blanked out, so that no sentence ends within it.

    The first tick stays: a sentence may start with code.
    """
    return _CODE.sub(lambda match: f"`{'x' * (len(match[0]) - 1)}", text)
