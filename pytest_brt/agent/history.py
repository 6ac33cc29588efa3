"""The plain way to show a model what happened: all of it, oldest first, until it is too long.

What is too long is cut, and what was left out is said. A counter says how long things are.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cache, cached_property

from pytest_brt.model.base import Message, Model, Prompt, Role
from pytest_brt.types import Step


class Counter:
    """Counts tokens as a model does, each text once; safe to use from many threads."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._of_text = cache(model.count)

    def __call__(self, text: str) -> int:
        """Return how many tokens `text` has.

        Raises:
            ModelProblem: the model cannot be reached.
        """
        return self._of_text(text)

    def of(self, messages: Sequence[Message]) -> int:
        """Return the tokens of a conversation, what the template puts around it included.

        At most a few more than there are: what joins two messages is counted with each.
        """
        return sum(self(message.text) + self._around for message in messages)

    @cached_property
    def _around(self) -> int:
        """The tokens that the template puts around one message, at most."""
        one = Message(role=Role.USER, text="x")
        other = Message(role=Role.ASSISTANT, text="x")
        whole = self._model.count(Prompt(messages=(one, other, one)))
        return max(1, -(-(whole - 3 * self("x")) // 3) + 1)


#: What is left of the room after something had to be left out. Not just enough: everything after
#: a change must be evaluated again, so that changes should be rare.
_AFTER = 0.6
#: Steps at the end that are always shown whole.
_WHOLE = 2
#: Steps that are left out and still told of in a line each.
_LINES = 12


def conversation(
    opening: Sequence[Message],
    steps: Sequence[Step],
    *,
    most: int,
    count: Counter,
    short: Sequence[Message] | None = None,
) -> tuple[Message, ...]:
    """Return `opening`, then each reply and what it was answered, in at most `most` tokens.

    A conversation only grows at its end, which a model that keeps what it evaluated likes. When
    it would be too long, first `short` stands for the opening, if there is one. Then the oldest
    observations are left out, several at once, and a note says so in their place; when that is
    not enough, one line stands for each of the oldest steps. The same steps always give the
    same messages.
    """
    begin: Sequence[Message] = opening
    hidden = dropped = 0

    def is_longer(number: int, room: int) -> bool:
        return count.of(_messages(begin, steps[:number], hidden, dropped)) > room

    for number in range(1, len(steps) + 1):
        if not is_longer(number, most):
            continue
        room = int(most * _AFTER)
        begin = opening if short is None else short
        last = max(0, number - _WHOLE)
        while hidden < last and is_longer(number, room):
            hidden += 1
        while dropped < last and is_longer(number, room):
            dropped += 1
        while dropped < number and is_longer(number, most):
            dropped += 1
            hidden = max(hidden, dropped)
    return tuple(_messages(begin, steps, hidden, dropped))


def _messages(
    opening: Sequence[Message], steps: Sequence[Step], hidden: int, dropped: int
) -> list[Message]:
    messages = list(opening)
    if dropped and messages:
        said = f"\n\n{_short(steps[:dropped])}"
        messages[-1] = Message(role=messages[-1].role, text=messages[-1].text + said)
    for step in steps[dropped:]:
        messages.append(Message(role=Role.ASSISTANT, text=step.reply))
        shown = _hidden(step) if step.number <= hidden else step.observation
        messages.append(Message(role=Role.USER, text=shown))
    return messages


def _short(steps: Sequence[Step]) -> str:
    """Return one line for each of the last of `steps`, which are not shown any more."""
    what = f"{len(steps)} steps were" if len(steps) > 1 else "step was"
    lines = [f"[Your first {what} left out here.]"]
    lines += [_line(step) for step in steps[-_LINES:]]
    return "\n".join(lines)


def _line(step: Step) -> str:
    asked = " ".join([step.action, *(value for _, value in step.arguments)])
    came = str(step.verdict) if step.verdict else "refused" if step.problem else ""
    thought = textwrap.shorten(step.thought, 120, placeholder="…")
    parts = [textwrap.shorten(asked, 100, placeholder="…") or "no action", thought, came]
    return f"{step.number}. " + "; ".join(part for part in parts if part)


def _hidden(step: Step) -> str:
    """Return what is shown in place of an observation: its first line, and a note.

    Of a test that was run the second line is shown too, which says what was raised.
    """
    lines = step.observation.split("\n")
    first = lines[: 2 if step.verdict else 1]
    if len(lines) == len(first) and len(lines[0]) < 160:
        return step.observation
    more = len(lines) - len(first)
    note = f"[… {more} line{'s' if more != 1 else ''} of this were shown and left out since …]"
    return "\n".join([*(line[:160] for line in first), note])


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
