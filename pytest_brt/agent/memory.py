"""What a model is shown of the steps so far: all of it, until that is too long.

A conversation, or a memory, only grows at its end, which a model that keeps what it evaluated
likes. When it would be too long, the entries that are worth least become their headlines, several
at once, so that changes are rare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


#: What is left of the room once something has to go. Everything after a change is evaluated
#: again, so changes should be rare.
_AFTER_CUT = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One step as later prompts show it."""

    #: Shown in its place where there is no room for all of it.
    headline: str
    text: str
    #: The least goes first; of equals the oldest.
    worth: int = 1


def fit_entries(
    entries: Sequence[Entry], room: int, count: Callable[[str], int]
) -> tuple[Entry | str, ...]:
    """Return the entries, and the headlines of those that do not fit into `room` tokens.

    An entry that was reduced to its headline stays so in later prompts; the last is always whole.
    """
    reduced: set[int] = set()
    for shown in range(1, len(entries) + 1):
        _reduce(entries[:shown], reduced, room, count)
    return tuple(one.headline if n in reduced else one for n, one in enumerate(entries))


def _reduce(
    entries: Sequence[Entry], reduced: set[int], room: int, count: Callable[[str], int]
) -> None:
    size = sum(
        count(entry.headline if number in reduced else entry.text) + _PARTING
        for number, entry in enumerate(entries)
    )
    if size <= room:
        return
    whole = [number for number in range(len(entries) - 1) if number not in reduced]
    for number in sorted(whole, key=lambda number: (entries[number].worth, number)):
        if size <= room * _AFTER_CUT:
            return
        reduced.add(number)
        size -= count(entries[number].text) - count(entries[number].headline)


#: Tokens of what stands between two entries.
_PARTING = 2


def conversation(
    opening: Sequence[Message], steps: Sequence[Step], room: int, count: Counter
) -> tuple[Message, ...]:
    """Return `opening`, then each reply and its result, in `room` tokens where that can be had.

    Where there is no room the oldest steps become a line each, which stand below the opening. The
    same steps always give the same messages.
    """
    around = 2 * count.of([Message(role=Role.USER, text="")])
    entries = [
        Entry(headline=headline(step), text=f"{step.reply}\n{step.observation}") for step in steps
    ]
    left = room - count.of(opening) - around * len(steps)
    shown = fit_entries(entries, left, count)
    lines = [entry for entry in shown if isinstance(entry, str)]
    *first, last = opening
    if lines:
        told = "\n".join(["Your first steps, in short:", *lines])
        last = Message(role=last.role, text=f"{last.text}\n\n{told}")
    messages = [*first, last]
    for step in steps[len(lines) :]:
        messages.append(Message(role=Role.ASSISTANT, text=step.reply))
        messages.append(Message(role=Role.USER, text=step.observation))
    return tuple(messages)


#: Characters of a thought, and of the arguments, in a headline.
_THOUGHT, _ASKED = 120, 160


def headline(step: Step) -> str:
    """Return a step in one line, as in "3. test tests/test_a.py: FAIL (run it)"."""
    thought = " ".join(step.thought.split())[:_THOUGHT]
    return f"{step.number}. {summary(step)}{f' ({thought})' if thought else ''}"


def summary(step: Step, arguments: int | None = None) -> str:
    """Return what a step did and what came of it, as in "test tests/test_a.py: FAIL".

    It has the first so many `arguments`, None for all.
    """
    values = (value for _, value in step.arguments[:arguments] if value)
    asked = " ".join([step.action or "no action", *values])
    asked = " ".join(asked.split())[:_ASKED]
    came = str(step.verdict or "") if step.is_done else "refused"
    return f"{asked}: {came}" if came else asked
