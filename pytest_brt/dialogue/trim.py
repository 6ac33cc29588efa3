"""Makes what a model is shown short enough, and says what was left out."""

from __future__ import annotations

import re
from collections.abc import Callable

#: Share of the room that the beginning gets; errors stand at the end.
_HEAD = 0.4
#: Most lines of a stretch that is looked for again right after it.
_STRETCH = 12
#: Longest line that is shown whole, in characters.
_LINE = 400
_VOLATILE = re.compile(r"0x[0-9a-f]+|\b\d+(\.\d+)?( ?m?s)?\b")


def without_repeats(text: str, *, numbers: bool = True) -> str:
    r"""Return `text` with lines, and stretches of up to 12 lines, that repeat at once left out.

    What was left out is said where it stood. In a log lines that differ in numbers and addresses
    only may count as the same (`numbers` false); in code they may not.

    >>> print(without_repeats("start\nretry 1\nretry 2\nretry 3\nend", numbers=False))
    start
    retry 1
    [the line above, 2 more times]
    end
    """
    lines = text.split("\n")
    plain = lines if numbers else [_VOLATILE.sub("0", line) for line in lines]
    out: list[str] = []
    at = 0
    while at < len(lines):
        size, times = _repeated(plain, at)
        out.extend(lines[at : at + size])
        if times:
            what = "line" if size == 1 else f"{size} lines"
            out.append(f"[the {what} above, {times} more time{'s' if times > 1 else ''}]")
        at += size * (times + 1)
    return "\n".join(out)


def _repeated(lines: list[str], at: int) -> tuple[int, int]:
    """Return the size of the stretch at `at` that repeats, and how many times; (1, 0) for none."""
    for size in range(1, _STRETCH + 1):
        stretch = lines[at : at + size]
        if not any(line.strip() for line in stretch):
            continue
        times = 0
        while lines[at + size * (times + 1) : at + size * (times + 2)] == stretch:
            times += 1
        # A note is a line too: a single repeat of a single line is no gain.
        if times * size > 1:
            return size, times
    return 1, 0


def cut(text: str, most: int, count: Callable[[str], int], *, head: float = _HEAD) -> str:
    """Return `text` with at most `most` tokens: its beginning and its end, whole lines.

    What was left out is said between them. `count` says how many tokens a text has, and `head`
    which share of the lines is of the beginning.
    """
    if count(text) <= most:
        return text
    lines = [short_line(line) for line in text.split("\n")]
    kept = len(lines)
    # The number of lines that fits, by halving: tokens grow with lines.
    low, high = 0, len(lines)
    while low < high:
        kept = (low + high + 1) // 2
        if count(_around(lines, kept, head)) <= most:
            low = kept
        else:
            high = kept - 1
    return _around(lines, low, head)


def short_line(line: str) -> str:
    """Return a line as it is, or the beginning and the end of one that is very long."""
    if len(line) <= _LINE:
        return line
    return f"{line[: _LINE - 100]} [… {len(line) - _LINE} characters left out …] {line[-100:]}"


def _around(lines: list[str], kept: int, share: float) -> str:
    left_out = len(lines) - kept
    if left_out <= 0:
        return "\n".join(lines)
    head = int(kept * share)
    tail = kept - head
    note = f"[… {left_out} line{'s' if left_out > 1 else ''} left out …]"
    return "\n".join([*lines[:head], note, *(lines[-tail:] if tail else [])])
