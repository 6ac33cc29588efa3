"""What of a report is shown: no leftovers of its template, nothing twice, the core when short."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum

from pytest_brt.dialogue.prompts import fenced
from pytest_brt.issue.prose import sentences
from pytest_brt.reading.roles import role_of
from pytest_brt.reading.steps import Role
from pytest_brt.reproduce.fit import shorten
from pytest_brt.types import Block, BlockKind, Issue

#: Words from which on a line is a sentence that says nothing when it is repeated.
_SENTENCE = 5
_FENCE = re.compile(r"^\s*(```|~~~)")
_PROSE = (BlockKind.PROSE, BlockKind.HEADING)
#: What a section on the environment holds besides sentences.
_LISTINGS = (BlockKind.OUTPUT, BlockKind.SHELL, BlockKind.FILE)
#: What a template leaves where nothing was filled in, and its lists of what was done before.
_LEFTOVER = re.compile(r"\s*(?:[_*]*No response[_*]*|[-*] \[[ xX]\] .*)\s*$")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEADING = re.compile(r"#+ |\*\*[^*]+\*\*:?\s*$")
#: How deep a line in bold type is as a heading.
_BOLD = 7
#: Headings of sections that say where the reporter runs it.
_ENVIRONMENT = re.compile(
    r"\b(?:environment|versions?|platform|system info\w*|your setup|installed|dependencies|os)\b",
    re.IGNORECASE,
)
#: Lines of such a section that stand elsewhere; a bare "name 1.2" might be what is reported.
_VERSION = re.compile(
    r"\W*(?:(?:python|os|platform|operating system|(?:[\w-]+ )?version)(?: version)?\W{1,4}"
    r"v?\d+(?:\.\w+)*|(?:os|platform|operating system)\W*:.*)\W*$",
    re.IGNORECASE,
)
_LINK = re.compile(r"^\W*(?:see(?: also)?:?\s*)?<?https?://\S+\W*$", re.IGNORECASE)
#: Marks of code in a sentence: what it says of that may be what the report is about.
_CODE = re.compile(r"`|\w\(|\w_\w|[\"'\u201c]\S")
#: Roles of sentences that are the symptom, the expectation, or what works beside it.
_TELLING = (Role.OBSERVED, Role.EXPECTED, Role.CONTRAST)
#: Words of a heading that only names its section.
_HEADING_WORDS = 8
#: Characters of a report that is shown as it is; longer ones are shortened to their core.
_MOST = 5_000
#: Share of the letters that a cut leaves at most.
_LESS = 0.97
#: Share of the room that code may take from a report's sentences.
_CODE_SHARE = 0.6


class Cut(StrEnum):
    """How much of a report is shown; samples of several cuts differ more than of one."""

    WHOLE = "whole"
    #: Without environment and links: other words around the same symptom and expectation.
    CORE = "core"


def cut_report(issue: Issue, cut: Cut) -> str:
    """Return the part of the report that `cut` names, without its title; all, where it has none."""
    whole = _without_title(issue)
    if cut is Cut.CORE and issue.blocks:
        core = "\n\n".join(text for _, text in _core(issue))
        whole = _once(core, issue.title) or whole
    return whole if len(whole) <= _MOST else shortened_report(issue, _MOST)


def says_less(core: str, whole: str) -> bool:
    """Return whether a cut left out more than marks and layout: else it asks the same again."""
    sizes = [len(re.sub(r"\W+", "", text)) for text in (core, whole)]
    return sizes[0] < _LESS * sizes[1]


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
    return shorten(_once("\n\n".join(fitting), issue.title), most)


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
        if not text.strip() or (skipped and block.kind in _LISTINGS):
            continue
        if heading and heading != issue.title:
            found.append((False, f"## {heading}"))
        heading = ""
        found.append((is_code, text))
    return found


def _sentences(block: Block, *, last: bool, telling: bool) -> Iterator[str]:
    """Yield the sentences of a paragraph that count; `last` when the last one announces code."""
    lines = _COMMENT.sub("", block.text).split("\n")
    left = (_LEFTOVER, _LINK, _VERSION)
    lines = [line for line in lines if not any(what.match(line) for what in left)]
    every = sentences(replace(block, text="\n".join(lines)))
    for number, sentence in enumerate(every):
        said = sentence.text.strip()
        announces = last and number == len(every) - 1
        if not telling or announces or role_of(said) in _TELLING or _CODE.search(said):
            yield said


def _without_title(issue: Issue) -> str:
    """Return the report's text without lines that repeat its title, or what stands above."""
    text = "\n".join(_filled(_COMMENT.sub("", issue.text.strip()).split("\n"))).strip()
    first, _, rest = text.partition("\n")
    if first.lstrip("# ").strip() == issue.title.strip():
        text = rest.strip()
    return _once(text, issue.title.strip())


def _filled(lines: list[str]) -> list[str]:
    """Return the lines of a report without what its template left empty, headings included."""
    kept: list[str] = []
    for line, fenced_in in _with_fences(lines):
        if not fenced_in and _HEADING.match(line):
            _leave_empty(kept, line)
        if fenced_in or not _LEFTOVER.fullmatch(line):
            kept.append(line)
    _leave_empty(kept, "# ")
    return kept


def _with_fences(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is a fence or lies between two."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        yield line, bool(fence or mark)


def _leave_empty(kept: list[str], heading: str) -> None:
    """Take the headings off the end that nothing stands below; deeper ones may follow."""
    while len(kept) > 1:
        last = next((n for n in range(len(kept) - 1, 0, -1) if kept[n].strip()), 0)
        if not last or not _HEADING.match(kept[last]) or _depth(kept[last]) < _depth(heading):
            return
        del kept[last:]


def _depth(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#")) or _BOLD


def _once(text: str, title: str = "") -> str:
    r"""Return `text` without sentences that were there before; code may well be repeated.

    >>> _once("It fails with an empty list.\n\nIt fails with an empty list.\n")
    'It fails with an empty list.'
    """
    seen = {title} if len(title.split()) >= _SENTENCE else set()
    kept: list[str] = []
    for line, fenced_in in _with_fences(text.split("\n")):
        bare = line.strip().lstrip("# ")
        is_code = fenced_in or line.startswith(("    ", "\t", ">>>"))
        if not is_code and len(bare.split()) >= _SENTENCE:
            if bare in seen:
                continue
            seen.add(bare)
        kept.append(line)
    return re.sub(r"\n{4,}", "\n\n", "\n".join(kept)).strip()
