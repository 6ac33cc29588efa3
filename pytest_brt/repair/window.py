"""Shows lines of a file to a model: as many as fit, without a hole, and how to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pytest_brt.dialogue.history import largest, short_line
from pytest_brt.repair.site import listing
from pytest_brt.repair.trial import shared

#: Tokens of a usual line with its number, and of what the loop may put in front of it all.
_LINE, _NOTE = 16, 40
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


def window(
    lines: Sequence[str],
    first: int,
    last: int,
    room: Room,
    *,
    head: Callable[[int], str],
    more: Callable[[int], str],
) -> str:
    """Return the lines from `first` on with their numbers, up to `last` or as far as they fit.

    At least one line is shown. Lines that are very long are shortened.

    Args:
        lines: of the file.
        first: 1-based, one that there is.
        last: 1-based; the lines end there at the latest.
        room: that there is for all of it.
        head: what comes above the lines, by the last of them.
        more: what comes below them when not all that was asked for is shown, by the next line.
    """
    short = tuple(map(short_line, lines[:last]))

    def text(end: int) -> str:
        below = f"\n{more(end + 1)}" if end < last else ""
        return f"{head(end)}\n{listing(short, first, end)}{below}"

    most = room.most - _NOTE
    end = min(last, len(lines))
    return text(min(largest(first, end, lambda end: room.count(text(end)) <= most), end))


def shown_lines(lines: tuple[str, ...], wanted: Iterable[int]) -> str:
    """Return the wanted lines with their numbers, and a mark where lines are left out.

    >>> print(shown_lines(("a", "b", "c"), {1, 3}))
        1| a
      […]
        3| c
    """
    out = []
    before = 0
    for number in sorted(wanted):
        if number != before + 1:
            out.append("  […]")
        out.append(listing(lines, number, number))
        before = number
    if before < len(lines):
        out.append("  […]")
    return "\n".join(out)


def changed_lines(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Return the numbers of the lines of `new` that differ from `old`, and those around them.

    >>> changed_lines([str(n) for n in range(40)], [str(n) for n in range(40) if n != 20])[::5]
    [16, 21]
    """
    same = shared(old, new)
    tail = shared(old[same:][::-1], new[same:][::-1])
    inner = SequenceMatcher(None, old[same : len(old) - tail], new[same : len(new) - tail], False)
    wanted: set[int] = set()
    for kind, _, _, begin, end in inner.get_opcodes():
        if kind != "equal":
            wanted.update(range(same + begin + 1 - _AROUND, same + end + _AROUND + 1))
    return sorted(number for number in wanted if 1 <= number <= len(new))
