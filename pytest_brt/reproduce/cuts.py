"""How much of a report is shown, and nothing of it twice."""

from __future__ import annotations

import re
from enum import StrEnum

from pytest_brt.types import BlockKind, Issue

#: Words from which on a line is a sentence that says nothing when it is repeated.
_SENTENCE = 5
_FENCE = re.compile(r"^\s*(```|~~~)")


class Cut(StrEnum):
    """How much of a report is shown; samples of several cuts differ more than of one."""

    WHOLE = "whole"
    #: Title, code and output, with the sentence before each.
    CODE = "code"
    #: Title and sentences, without code.
    PROSE = "prose"
    #: Title, the first sentences and the first code.
    START = "start"


def cut_report(issue: Issue, cut: Cut) -> str:
    """Return the part of the report that `cut` names, without its title; all, where it has none."""
    if cut is Cut.WHOLE or not issue.blocks:
        return _without_title(issue)
    prose = (BlockKind.PROSE, BlockKind.HEADING)
    parts: list[str] = []
    for number, block in enumerate(issue.blocks):
        is_prose = block.kind in prose
        before = number + 1 < len(issue.blocks) and issue.blocks[number + 1].kind not in prose
        if cut is Cut.PROSE and is_prose:
            parts.append(block.text)
        elif cut is Cut.CODE and (not is_prose or before):
            parts.append(block.text if is_prose else f"```\n{block.text}\n```")
        elif cut is Cut.START:
            parts.append(block.text if is_prose else f"```\n{block.text}\n```")
            if not is_prose:
                break
    text = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    return _once(text) if len(text) >= 40 else _without_title(issue)


def _without_title(issue: Issue) -> str:
    """Return the report's text without lines that repeat its title, or what stands above."""
    text = issue.text.strip()
    first, _, rest = text.partition("\n")
    if first.lstrip("# ").strip() == issue.title.strip():
        text = rest.strip()
    return _once(text, issue.title.strip())


def _once(text: str, title: str = "") -> str:
    r"""Return `text` without sentences that were there before; code may well be repeated.

    >>> _once("It fails with an empty list.\n\nIt fails with an empty list.\n")
    'It fails with an empty list.'
    """
    seen = {title} if len(title.split()) >= _SENTENCE else set()
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        bare = line.strip().lstrip("# ")
        is_code = bool(fence or mark) or line.startswith(("    ", "\t", ">>>"))
        if not is_code and len(bare.split()) >= _SENTENCE:
            if bare in seen:
                continue
            seen.add(bare)
        kept.append(line)
    return re.sub(r"\n{4,}", "\n\n", "\n".join(kept)).strip()
