"""Makes a prompt fit: what matters least goes first, and what went is said.

Nothing is ever cut in silence: a part that was shortened says so where it was cut, so that the
model knows, and `Fitted.dropped` says so for the run's record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.errors import ModelProblem

Count = Callable[[Sequence[str]], tuple[int, ...]]
#: A part is not shortened to less than this many tokens: then it goes as a whole.
_STUB = 48


class Trim(StrEnum):
    """How a part may be shortened."""

    #: Not at all.
    NEVER = "never"
    #: Whole or not at all.
    WHOLE = "whole"
    #: The beginning stays.
    END = "end"
    #: The end stays, as of a log.
    START = "start"
    #: Both ends stay, as of a traceback.
    MIDDLE = "middle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a prompt."""

    #: For the reader of the record, as in "the report" or "tests/test_a.py".
    name: str
    text: str
    #: The lowest goes first; among equals the later one.
    priority: int = 0
    trim: Trim = Trim.WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Parts that fit."""

    #: In the order given; "" where a part went as a whole.
    texts: tuple[str, ...]
    tokens: int
    #: One line for each part that is not whole, as in "the log: 120 of 200 lines left out".
    dropped: tuple[str, ...] = ()


def fit(parts: Sequence[Part], limit: int, count: Count) -> Fitted:
    """Return `parts` shortened so that all of them together have at most `limit` tokens.

    `count` is a model's own. Parts are counted one by one; joined, they have hardly more.

    Raises:
        ModelProblem: those that may not be shortened are too large by themselves.
    """
    texts = [part.text for part in parts]
    sizes = list(count(texts))
    dropped: dict[int, str] = {}
    order = sorted(range(len(parts)), key=lambda n: (parts[n].priority, -n))
    for number in order:
        excess = sum(sizes) - limit
        if excess <= 0:
            break
        part = parts[number]
        if part.trim is Trim.NEVER or not part.text:
            continue
        room = sizes[number] - excess
        texts[number], sizes[number], dropped[number] = _shorten(part, room, count)
    if sum(sizes) > limit:
        fixed = ", ".join(
            f"{part.name} ({size})" for part, size in zip(parts, sizes, strict=True) if size
        )
        raise ModelProblem(
            f"the prompt needs {sum(sizes)} tokens and {limit} are left for it: {fixed} "
            "(a larger context: --brt-context N)"
        )
    return Fitted(
        texts=tuple(texts),
        tokens=sum(sizes),
        dropped=tuple(dropped[number] for number in sorted(dropped)),
    )


def _shorten(part: Part, room: int, count: Count) -> tuple[str, int, str]:
    """Return the text of `part` in at most `room` tokens, its size, and what was left out."""
    if part.trim is not Trim.WHOLE and room >= _STUB:
        lines = part.text.split("\n")
        kept = _lines_that_fit(part.trim, lines, room, count)
        if kept:
            text = _joined(part.trim, lines, kept)
            return text, count([text])[0], (
                f"{part.name}: {len(lines) - kept} of {len(lines)} lines left out"
            )  # fmt: skip
    return "", 0, f"{part.name}: left out"


def _lines_that_fit(trim: Trim, lines: Sequence[str], room: int, count: Count) -> int:
    """Return how many of `lines` can stay: as many as fit, found by halving."""
    low, high = 0, len(lines)  # `low` lines fit, `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        if count([_joined(trim, lines, middle)])[0] <= room:
            low = middle
        else:
            high = middle
    return low


def _joined(trim: Trim, lines: Sequence[str], kept: int) -> str:
    """Return `kept` of `lines` with a line that says how many are missing."""
    missing = len(lines) - kept
    gap = f"[… {missing} line{'s' if missing != 1 else ''} left out …]"
    if trim is Trim.END:
        return "\n".join([*lines[:kept], gap])
    if trim is Trim.START:
        return "\n".join([gap, *lines[len(lines) - kept :]])
    head = (kept + 1) // 2
    return "\n".join([*lines[:head], gap, *lines[len(lines) - (kept - head) :]])
