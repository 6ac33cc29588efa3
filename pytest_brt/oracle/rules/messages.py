"""Reports about the words of an exception: raised it shall be, but with another message."""

from __future__ import annotations

import re

from pytest_brt.issue.prose import sentences
from pytest_brt.reading.lexicon import must_work, plain
from pytest_brt.types import BlockKind, Issue

_BAD = "wrong|misleading|incorrect|confusing|unhelpful|unclear"
_WORDS_ARE_WRONG = re.compile(
    rf"\bmessages?\b[^.\n]{{0,40}}\b(?:{_BAD}|should"
    r"|not (?:very )?(?:helpful|clear|correct|right|accurate))\b"
    rf"|\b(?:{_BAD}|better|clearer) (?:\w+ ){{0,3}}messages?\b"
    r"|\bit should (?:say|read|mention|tell)\b",
    re.IGNORECASE,
)
_SHOULD_WORK = re.compile(
    r"\bshould(?: \w+){0,5} (?:pass|return|give|be parsed)\b"
    r"|\bno (?:error|exception)\b|\bwithout (?:an? )?(?:error|exception)",
    re.IGNORECASE,
)


def is_about_the_message(issue: Issue) -> bool:
    """Say whether a report finds fault with what an exception says, and not with its coming."""
    blocks = [b for b in issue.blocks if b.kind in (BlockKind.PROSE, BlockKind.HEADING)]
    said = [sentence.text for block in blocks for sentence in sentences(block)]
    text = plain("\n".join([issue.title, *said]))
    works = _SHOULD_WORK.search(text) or any(map(must_work, (issue.title, *said)))
    return bool(_WORDS_ARE_WRONG.search(text)) and not works
