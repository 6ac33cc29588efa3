"""What models are shown of long texts: beginning and end, and that something is left out."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.types import Issue

#: Longest line that is shown whole, and characters of a report from which on its middle goes.
_LINE, _REPORT = 400, 8_000


def numbered(lines: Sequence[str], first: int, last: int) -> str:
    """Return lines with their numbers, as far as there are such lines.

    >>> print(numbered(("a", "b"), 2, 9))
        2| b
    """
    first = max(1, first)
    return "\n".join(f"{n:5}| {line}" for n, line in enumerate(lines[first - 1 : last], first))


def cut(text: str, most: int, head: float = 0.4) -> str:
    """Return a text in at most about `most` characters: its beginning and its end, whole lines."""
    if len(text) <= most:
        return text
    lines = [line if len(line) <= _LINE else f"{line[:_LINE]} […]" for line in text.split("\n")]
    first, last = 0, len(lines)
    left = most - len(lines[-1])
    while first < last - 1 and left > len(lines[first]):
        # By turns, so that both ends have their share.
        if first <= head * (first + len(lines) - last):
            left -= len(lines[first]) + 1
            first += 1
        else:
            last -= 1
            left -= len(lines[last]) + 1
    if first >= last - 1:
        return "\n".join(lines)[:most]
    return "\n".join([*lines[:first], f"[… {last - first} lines left out …]", *lines[last:]])


def report_text(issue: Issue, most: int = _REPORT) -> str:
    """Return a report without its title, the middle of a long one left out, no fence left open."""
    lines = issue.text.strip("\n").split("\n")
    if lines[0].lstrip("# ").strip() == issue.title.strip():
        lines = lines[1:]
    shown = cut("\n".join(lines).strip("\n"), most, head=2 / 3)
    before, mark, after = shown.partition("\n[… ")
    if before.count("```") % 2:
        before += "\n```"
    return before + mark + after
