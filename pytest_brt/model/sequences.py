"""Sequences in the memory of a model: what they hold, and which of them go when room is needed."""

from __future__ import annotations

from array import array
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from pytest_brt.model.llama import Context


@dataclass(slots=True, eq=False)
class Sequence:
    """Tokens that are evaluated, under one of llama.cpp's sequence numbers."""

    number: int
    ids: array[int] = field(default_factory=lambda: array("i"))


def common(left: array[int], right: array[int]) -> int:
    """Return how many tokens two sequences begin with in common."""
    most = min(len(left), len(right))
    if left[:most] == right[:most]:
        return most
    return int(np.argmax(np.array(left[:most]) != np.array(right[:most])))


class Sequences:
    """All sequences of a context."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.recurrent = context.weights.recurrent
        self.free = list(reversed(range(context.plan.sequences)))
        #: Finished prefixes that the next prompt may begin with, oldest use first.
        self.kept: list[Sequence] = []

    def begin(self, ids: array[int]) -> Sequence:
        """Return a new sequence with as much of `ids` as is known, but for the last of them.

        Raises:
            LookupError: every sequence number is taken.
        """
        kept, length = self._best(ids)
        return self._new() if kept is None else self.fork(kept, length)

    def fork(self, source: Sequence, length: int) -> Sequence:
        """Return a new sequence that begins with the first `length` tokens of `source`.

        Raises:
            LookupError: every sequence number is taken.
        """
        fork = self._new(source)
        self.context.copy(source.number, fork.number, length)
        fork.ids = source.ids[:length]
        self._touch(source)
        return fork

    def keep(self, sequence: Sequence) -> None:
        """Keep `sequence` for prompts to come, in place of those that it only continues."""
        if not self.recurrent:
            for other in list(self.kept):
                if common(other.ids, sequence.ids) == len(other.ids):
                    self.drop(other)
        self.kept.append(sequence)

    def keep_copy(self, sequence: Sequence) -> None:
        """Keep what `sequence` holds now, unless that is kept or there is no number for it."""
        if all(kept.ids != sequence.ids for kept in self.kept):
            with suppress(LookupError):
                self.kept.append(self.fork(sequence, len(sequence.ids)))

    def drop(self, sequence: Sequence) -> None:
        """Forget `sequence`; its number and the cells that nobody shares are free again."""
        if sequence in self.kept:
            self.kept.remove(sequence)
        self.context.remove(sequence.number)
        self.free.append(sequence.number)

    def evict(self, spared: Sequence | None = None) -> bool:
        """Drop the kept sequence that was not used for longest; False when there is none."""
        victim = next((kept for kept in self.kept if kept is not spared), None)
        if victim is None:
            return False
        self.drop(victim)
        return True

    def _new(self, spared: Sequence | None = None) -> Sequence:
        if not self.free and not self.evict(spared):
            raise LookupError("no free sequence")
        return Sequence(self.free.pop())

    def _touch(self, sequence: Sequence) -> None:
        """Note that `sequence` was used just now, if it is a kept one."""
        if sequence in self.kept:
            self.kept.remove(sequence)
            self.kept.append(sequence)

    def _best(self, ids: array[int]) -> tuple[Sequence | None, int]:
        """Return the kept sequence that `ids` shares most with, and how many tokens of it.

        The last token is always evaluated, to know what comes after it. A recurrent state cannot
        be rewound: it is used as a whole.
        """
        found, most = None, 0
        for one in self.kept:
            length = min(common(one.ids, ids), len(ids) - 1)
            if length >= max(most, 1) and not (self.recurrent and length < len(one.ids)):
                found, most = one, length
        return found, most
