"""Parts of texts and files, as models are shown them: what is too long is cut, and that is said."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pytest_brt.code.changed_code import edits

#: Share of the room that the beginning gets; errors stand at the end.
_HEAD = 0.4
#: A line that stands three times in a row, or several lines that stand twice: the note that is put
#: in place of a repeat is a line too.
_REPEATED = re.compile(r"(.)\1{2,}|(.{2,12}?)\2+", re.DOTALL)
#: Longest line that is shown whole, in characters.
_LONGEST = 400
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
    known: dict[str, str] = {}
    plain = lines if numbers else [_VOLATILE.sub("0", line) for line in lines]
    # A letter for each line, so that what repeats can be found by an expression.
    letters = "".join(known.setdefault(line, chr(len(known))) for line in plain)
    out: list[str] = []
    at = 0
    for found in _REPEATED.finditer(letters):
        stretch = found[1] or found[2]
        begin, size = found.start(), len(stretch)
        if any(line.strip() for line in lines[begin : begin + size]):
            times = len(found[0]) // size - 1
            what = "line" if size == 1 else f"{size} lines"
            note = f"[the {what} above, {times} more time{'s' if times > 1 else ''}]"
            out += [*lines[at : begin + size], note]
            at = found.end()
    return "\n".join([*out, *lines[at:]])


def cut(text: str, most: int, count: Callable[[str], int], *, head: float = _HEAD) -> str:
    """Return `text` with at most `most` tokens: its beginning and its end, whole lines.

    What was left out is said between them. `count` says how many tokens a text has, and `head`
    which share of the lines is of the beginning. Where no line fits it is the first characters.
    """
    if count(text) <= most:
        return text
    lines = [short_line(line) for line in text.split("\n")]
    kept = largest(0, len(lines), lambda kept: count(_around(lines, kept, head)) <= most)
    return _around(lines, kept, head) if kept else f"{text[: max(0, most - 1)]}…"


def largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number from `low` to `high` that fits, `low` without any; by halving."""
    fitting = bisect(range(low, high + 1), False, key=lambda number: not fits(number))
    return low + max(0, fitting - 1)


def short_line(line: str) -> str:
    """Return a line as it is, or the beginning and the end of one that is very long."""
    if len(line) <= _LONGEST:
        return line
    left = len(line) - _LONGEST
    return f"{line[: _LONGEST - 100]} [… {left} characters left out …] {line[-100:]}"


def _around(lines: list[str], kept: int, share: float) -> str:
    left_out = len(lines) - kept
    if left_out <= 0:
        return "\n".join(lines)
    head = int(kept * share)
    tail = kept - head
    note = f"[… {left_out} line{'s' if left_out > 1 else ''} left out …]"
    return "\n".join([*lines[:head], note, *(lines[-tail:] if tail else [])])


# -- lines of files, with their numbers --

#: Tokens of a usual line with its number, and of what stands above and below them all.
_LINE, _NOTE = 16, 100
#: Lines that are shown around a place that was changed.
_AROUND = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much one observation can hold."""

    #: Tokens.
    most: int
    count: Callable[[str], int]

    @property
    def lines(self) -> int:
        """About how many lines of code it holds, in tens."""
        return max(10, self.most // _LINE // 10 * 10)


def numbered(lines: Sequence[str], first: int, last: int) -> str:
    """Return lines with their numbers.

    >>> print(numbered(("a", "b"), 2, 9))
        2| b
    """
    shown = enumerate(lines[first - 1 : last], start=first)
    return "\n".join(f"{number:5}| {line}" for number, line in shown)


def window(lines: Sequence[str], first: int, last: int, room: Room) -> tuple[int, str]:
    """Return the lines from `first` on with their numbers, and the number of the last of them.

    They go up to `last` or as far as they fit; at least one is shown, where there is any. Very
    long lines are shortened.
    """
    short = tuple(map(short_line, lines[:last]))
    most = room.most - _NOTE
    end = min(last, len(lines))
    end = min(end, largest(first, end, lambda end: room.count(numbered(short, first, end)) <= most))
    return end, numbered(short, first, end)


def picked_lines(lines: Sequence[str], wanted: Iterable[int]) -> str:
    """Return the wanted lines with their numbers, and a mark where lines are left out.

    >>> print(picked_lines(("a", "b", "c"), {1, 3}))
        1| a
      […]
        3| c
    """
    out = []
    before = 0
    for number in sorted(wanted):
        if number != before + 1:
            out.append("  […]")
        out.append(numbered(lines, number, number))
        before = number
    if before < len(lines):
        out.append("  […]")
    return "\n".join(out)


def changed_lines(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Return the numbers of the lines of `new` that differ from `old`, and those around them.

    >>> changed_lines([str(n) for n in range(40)], [str(n) for n in range(40) if n != 20])[::5]
    [16, 21]
    """
    wanted: set[int] = set()
    for edit in edits(old, new):
        wanted.update(range(edit.new_start + 1 - _AROUND, edit.new_end + _AROUND + 1))
    return sorted(number for number in wanted if 1 <= number <= len(new))
