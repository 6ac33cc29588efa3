"""Oracles about two results: calls that the report says must agree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_brt.issue.prose import sentences
from pytest_brt.observe.display import Display, Form, displays
from pytest_brt.oracle.draft import Draft
from pytest_brt.oracle.rules.view import View, called
from pytest_brt.reading.lexicon import plain
from pytest_brt.types import BlockKind, OracleKind

_SAME = re.compile(
    r"\b(?:same|consistent(?:ly)?|equal|equivalent|identical(?:ly)?|agree|match)\b", re.IGNORECASE
)
_WISH = re.compile(r"\b(?:should|expect\w*)\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|never)\b|n['’]t\b", re.IGNORECASE)


def agree(view: View) -> Iterator[Draft]:
    """Two like calls that give different results must agree when the report says so."""
    words = [
        sentence
        for block in view.issue.blocks
        if block.kind in (BlockKind.PROSE, BlockKind.HEADING)
        for sentence in sentences(block)
        if _SAME.search(sentence.text)
        and _WISH.search(plain(sentence.text))
        and not _DENIED.search(sentence.text)
    ]
    if not words:
        return
    for first, second, one, other in _pairs(view):
        sentence = words[0].text
        yield Draft(
            kind=OracleKind.AGREE,
            index=max(first, second),
            body=(f"assert {one.expression} == {other.expression}",),
            sentence=f'The two calls should give the same. Report: "{sentence}"',
            score=OracleKind.AGREE.prior,
            reasons=("the report says that both should give the same",),
            about=called(one.expression),
        )


def _pairs(view: View) -> Iterator[tuple[int, int, Display, Display]]:
    """Yield neighbours of one block that call the same function and differ."""
    for first, seen in enumerate(view.seen):
        for second in range(first + 1, min(first + 3, len(view.seen))):
            other = view.seen[second]
            if other.step.block != seen.step.block and not other.step.inline:
                continue
            if called(seen.step.source) != called(other.step.source) or seen.missing:
                continue
            one, two = displays(seen), displays(other)
            if not one or not two or one[0].form is not Form.VALUE:
                continue
            if two[0].form is Form.VALUE and one[0].text != two[0].text and not other.missing:
                yield first, second, one[0], two[0]
