"""What of a report is shown, and how a text that is too long is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pytest_brt.dialogue.history import cut
from pytest_brt.dialogue.prompts import fenced
from pytest_brt.issue.blocks import without_comments
from pytest_brt.issue.prose import sentences
from pytest_brt.reading.lexicon import role_of
from pytest_brt.reading.steps import ClaimRole
from pytest_brt.types import Block, BlockKind, Issue

_PROSE = (BlockKind.PROSE, BlockKind.HEADING)
#: Headings of sections that say where the reporter runs it.
_ENVIRONMENT = re.compile(r"\b(?:environment|versions?)\b", re.IGNORECASE)
#: Lines of such a section that stand elsewhere; a bare "name 1.2" might be what is reported.
_VERSION = re.compile(
    r"\W*(?:python|(?:[\w-]+ )?version)(?: version)?\W{1,4}v?\d+(?:\.\w+)*\W*$", re.IGNORECASE
)
_LINK = re.compile(r"^\W*https?://\S+\W*$", re.IGNORECASE)
#: Marks of code in a sentence: what it says of that may be what the report is about.
_CODE = re.compile(r"`|\w\(|\w_\w|[\"'\u201c]\S")
#: Roles of sentences that are the symptom, the expectation, or what works beside it.
_TELLING = (ClaimRole.OBSERVED, ClaimRole.EXPECTED, ClaimRole.CONTRAST)
#: Words of a heading that only names its section.
_HEADING_WORDS = 8
#: Characters of a report that is shown as it is; longer ones are shortened to their core.
_MOST = 5_000
#: Share of the room that code may take from a report's sentences.
_CODE_SHARE = 0.6


def report_text(issue: Issue, *, core: bool = False) -> str:
    """Return the report without its title; a long one as `shortened_report` has it.

    Its `core` is without environment and links: other words around the same symptom.
    """
    whole = _without_title(issue)
    if core:
        whole = "\n\n".join(text for _, text in _core(issue)) or whole
    return whole if len(whole) <= _MOST else shortened_report(issue, _MOST)


def shortened_report(issue: Issue, most: int) -> str:
    """Return the core of the report in at most about `most` characters.

    Sentences that tell neither symptom nor expectation go first, then lines of long code.
    """
    parts = _core(issue) or [(False, _without_title(issue))]
    if sum(len(text) for _, text in parts) > most:
        parts = _core(issue, telling=True) or parts
    code = [len(text) for is_code, text in parts if is_code]
    room = max(most - sum(len(text) for is_code, text in parts if not is_code), 0)
    room = max(room, int(most * _CODE_SHARE)) if sum(code) > room else sum(code)
    share = room / max(sum(code), 1)
    fitting = [shorten(text, int(len(text) * share)) if own else text for own, text in parts]
    return shorten("\n\n".join(fitting), most)


def _core(issue: Issue, *, telling: bool = False) -> list[tuple[bool, str]]:
    """Return the stretches of the report but environment and links, and whether each is code.

    With `telling`, of sentences only those on what goes wrong, should happen, or is code.
    """
    found: list[tuple[bool, str]] = []
    heading, skipped = "", False
    for number, block in enumerate(issue.blocks):
        if block.kind is BlockKind.HEADING:
            named = block.text != issue.title and len(block.text.split()) <= _HEADING_WORDS
            heading, skipped = block.text, named and bool(_ENVIRONMENT.search(block.text))
            continue
        is_code = block.kind not in _PROSE
        before = number + 1 < len(issue.blocks) and issue.blocks[number + 1].kind not in _PROSE
        if is_code:
            text = fenced(block.text, block.language)
        else:
            text = "\n".join(
                _sentences(block, last=before and not skipped, telling=telling or skipped)
            )
        if not text.strip() or (skipped and is_code):
            continue
        if heading and heading != issue.title:
            found.append((False, f"## {heading}"))
        heading = ""
        found.append((is_code, text))
    return found


def _sentences(block: Block, *, last: bool, telling: bool) -> Iterator[str]:
    """Yield the sentences of a paragraph that count; `last` when the last one announces code."""
    lines = [
        line
        for line in block.text.split("\n")
        if not _LINK.match(line) and not _VERSION.match(line)
    ]
    every = sentences(replace(block, text="\n".join(lines)))
    for number, sentence in enumerate(every):
        said = sentence.text.strip()
        announces = last and number == len(every) - 1
        if not telling or announces or role_of(said) in _TELLING or _CODE.search(said):
            yield said


def _without_title(issue: Issue) -> str:
    """Return the report's text without the line that is its title."""
    text = without_comments(issue.text.strip()).strip()
    first, _, rest = text.partition("\n")
    if first.lstrip("# ").strip() == issue.title.strip():
        text = rest.strip()
    return re.sub(r"\n{4,}", "\n\n", text)


def shorten(text: str, most: int) -> str:
    """Return `text` in at most `most` characters; its beginning says more than its end."""
    return cut(text, most, len, head=2 / 3)
