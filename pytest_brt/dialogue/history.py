"""The plain way to show a model what happened: all of it, oldest first, until it is too long."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.budget import Counter
from pytest_brt.model.base import Message, Role
from pytest_brt.types import Step

#: What is left of the room after something had to be left out. Not just enough: everything after
#: a change must be evaluated again, so that changes should be rare.
_AFTER = 0.6
#: Steps at the end that are always shown whole.
_WHOLE = 2


def conversation(
    opening: Sequence[Message], steps: Sequence[Step], *, most: int, count: Counter
) -> tuple[Message, ...]:
    """Return `opening`, then each reply and what it was answered, in at most `most` tokens.

    A conversation only grows at its end, which a model that keeps what it evaluated likes. When
    it would be too long, the oldest observations are left out, several at once, and a note says
    so in their place; when that is not enough, the oldest steps go altogether. The same steps
    always give the same messages.
    """
    hidden = dropped = 0
    for number in range(1, len(steps) + 1):
        past = steps[:number]
        if count.of(_messages(opening, past, hidden, dropped)) <= most:
            continue
        room = int(most * _AFTER)
        last = max(0, number - _WHOLE)
        while hidden < last and _too_long(opening, past, hidden, dropped, room, count):
            hidden += 1
        while dropped < last and _too_long(opening, past, hidden, dropped, room, count):
            dropped += 1
        while dropped < number and _too_long(opening, past, hidden, dropped, most, count):
            dropped += 1
            hidden = max(hidden, dropped)
    return tuple(_messages(opening, steps, hidden, dropped))


def _too_long(
    opening: Sequence[Message],
    steps: Sequence[Step],
    hidden: int,
    dropped: int,
    room: int,
    count: Counter,
) -> bool:
    return count.of(_messages(opening, steps, hidden, dropped)) > room


def _messages(
    opening: Sequence[Message], steps: Sequence[Step], hidden: int, dropped: int
) -> list[Message]:
    messages = list(opening)
    if dropped and messages:
        what = f"{dropped} steps were" if dropped > 1 else "step was"
        said = f"\n\n[Your first {what} left out here.]"
        messages[-1] = Message(role=messages[-1].role, text=messages[-1].text + said)
    for step in steps[dropped:]:
        messages.append(Message(role=Role.ASSISTANT, text=step.reply))
        shown = _hidden(step) if step.number <= hidden else step.observation
        messages.append(Message(role=Role.USER, text=shown))
    return messages


def _hidden(step: Step) -> str:
    """Return what is shown in place of an observation: its first line, and a note."""
    lines = step.observation.split("\n")
    if len(lines) == 1 and len(lines[0]) < 160:
        return step.observation
    more = len(lines) - 1
    note = f"[… {more} line{'s' if more != 1 else ''} of this were shown and left out since …]"
    return f"{lines[0][:160]}\n{note}"
