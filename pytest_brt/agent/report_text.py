"""A report as a model is shown it: whole where there is room, else with its middle left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pytest_brt.agent.excerpt import cut, largest, short_line
from pytest_brt.types import Issue

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
#: Characters of a report from which on its middle is left out.
_LONG = 8000


def report_text(issue: Issue, *, whole: bool = False) -> str:
    """Return the report without its title; a long one is shortened unless it is wanted `whole`."""
    if whole:
        return "\n".join(_closed(_body(issue)))
    return shortened_report(issue, _LONG)


def fitting_report(issue: Issue, most: int, count: Callable[[str], int]) -> str:
    """Return the report with its title: as it stands where it has `most` tokens, else shortened."""
    if count(issue.text) <= most:
        return issue.text
    size = len(issue.text) * most // count(issue.text)
    return cut(f"# {issue.title}\n\n{shortened_report(issue, size)}", most, count)


def shortened_report(issue: Issue, most: int) -> str:
    """Return the report without its title, in at most about `most` characters.

    Lines go from its middle, and each fence that this cuts open is closed.
    """
    lines = _body(issue)
    if sum(len(line) + 1 for line in lines) <= most:
        return "\n".join(_closed(lines))
    shown = [short_line(line) for line in lines]
    kept = largest(0, len(lines), lambda count: _size(shown, count) <= most)
    head, tail = _ends(len(lines), kept)
    inside = _fence_after(lines[:tail])
    after = [inside] if inside else []
    left_out = f"[… {tail - head} lines left out …]"
    return "\n".join([*_closed(shown[:head]), left_out, *after, *_closed(shown[tail:], inside)])


def _ends(count: int, kept: int) -> tuple[int, int]:
    """Return where the middle of `count` lines begins and ends if `kept` of them are shown."""
    head = kept * 2 // 3
    return head, count - (kept - head)


def _size(lines: Sequence[str], kept: int) -> int:
    head, tail = _ends(len(lines), kept)
    return sum(len(line) + 1 for line in (*lines[:head], *lines[tail:]))


def _body(issue: Issue) -> list[str]:
    """Return the lines of a report, without the one that is its title."""
    lines = issue.text.strip("\n").split("\n")
    if lines[0].lstrip("# ").strip() == issue.title.strip():
        lines = lines[1:]
    return "\n".join(lines).strip("\n").split("\n")


def _closed(lines: Sequence[str], fence: str = "") -> list[str]:
    """Return the lines, of which the first stands in `fence`, with an end for an open one."""
    fence = _fence_after(lines, fence)
    return [*lines, fence] if fence else [*lines]


def _fence_after(lines: Sequence[str], fence: str = "") -> str:
    """Return the fence that is open after the lines, "" for none."""
    for line in lines:
        mark = _FENCE.match(line)
        if fence and line.strip() == fence:
            fence = ""
        elif mark and not fence:
            fence = mark[1]
    return fence
