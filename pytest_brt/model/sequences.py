"""Sequences in the memory of a model: what is in them, what they share, which go first."""

from __future__ import annotations

import itertools
from array import array
from contextlib import suppress
from dataclasses import dataclass, field

from pytest_brt.model.context import Context, Floats

#: Longest span: of one that is shared in part, all cells count as used.
_SPAN = 64
#: Shorter prefixes are not worth being kept outside the context.
_WORTH_SAVING = 64


class Span:
    """Cells that were filled together; sequences that were forked share them."""

    __slots__ = ("cells", "users")

    def __init__(self, cells: int) -> None:
        self.cells = cells
        self.users = 1


@dataclass(slots=True, eq=False)
class Sequence:
    """Tokens that are evaluated, under one of llama.cpp's sequence numbers."""

    number: int
    ids: array[int] = field(default_factory=lambda: array("i"))
    spans: list[Span] = field(default_factory=list)
    #: What the model says comes after the last token, when that was kept.
    logits: Floats | None = None
    #: How many need it now; above 0 it is not dropped to make room.
    pins: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """A sequence that was moved out of the context."""

    ids: array[int]
    state: bytes
    logits: Floats | None


def common(left: array[int], right: array[int]) -> int:
    """Return how many tokens two sequences begin with in common."""
    most = min(len(left), len(right))
    if left[:most] == right[:most]:
        return most
    low, high = 0, most  # the answer is in low..high-1: halve by comparing slices
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


def usable(have: array[int], logits: bool, wanted: array[int], *, rewind: bool) -> int:
    """Return how many tokens of `have` can begin `wanted`.

    All of `wanted` only when the `logits` after it are known: else something must be evaluated
    to know what comes next. Without `rewind`, `have` is used as a whole or not at all.
    """
    length = common(have, wanted)
    if length == len(wanted) and not (logits and length == len(have)):
        length -= 1
    return length if rewind or length == len(have) else 0


class Sequences:
    """All sequences of a context, and those that were moved out of it to make room."""

    def __init__(self, context: Context, count: int, spare_bytes: int) -> None:
        """Use `count` sequence numbers; keep up to `spare_bytes` of what has to make room."""
        self.context = context
        self.recurrent = context.weights.recurrent
        self.free = list(range(count - 1, -1, -1))
        self.used = 0
        #: Finished prefixes that the next prompt may begin with, oldest use first.
        self.kept: list[Sequence] = []
        self.saved: list[Saved] = []
        self.spare_bytes = spare_bytes

    def new(self) -> Sequence:
        """Return an empty sequence, after making room for it if need be."""
        if not self.free and not self.evict():
            raise LookupError("no free sequence")
        return Sequence(self.free.pop())

    def fork(self, source: Sequence, length: int) -> Sequence:
        """Return a new sequence that begins with the first `length` tokens of `source`."""
        source.pins += 1  # `new` must not drop it
        fork = self.new()
        source.pins -= 1
        if length:
            self.context.copy(source.number, fork.number, length)
            fork.ids = source.ids[:length]
            filled = itertools.accumulate((s.cells for s in source.spans), initial=0)
            fork.spans = [
                span for span, start in zip(source.spans, filled, strict=False) if start < length
            ]
            for span in fork.spans:
                span.users += 1
        return fork

    def extend(self, sequence: Sequence, tokens: list[int]) -> None:
        """Note that `tokens` were evaluated at the end of `sequence`."""
        sequence.ids.extend(tokens)
        self.used += len(tokens)
        left = len(tokens)
        if sequence.spans and sequence.spans[-1].users == 1:
            last = sequence.spans[-1]
            more = min(left, max(0, _SPAN - last.cells))
            last.cells += more
            left -= more
        while left:
            sequence.spans.append(Span(min(left, _SPAN)))
            left -= sequence.spans[-1].cells

    def cut(self, sequence: Sequence, length: int) -> bool:
        """Forget all but the first `length` tokens; False where that cannot be done."""
        if length == len(sequence.ids):
            return True
        if not self.context.remove(sequence.number, length):
            return False
        sequence.ids = sequence.ids[:length]
        sequence.logits = None
        held, kept = 0, []
        for span in sequence.spans:
            if held >= length:
                self._release(span)
            else:
                kept.append(span)
            held += span.cells
        sequence.spans = kept
        return True

    def _release(self, span: Span) -> None:
        span.users -= 1
        if span.users == 0:
            self.used -= span.cells

    def drop(self, sequence: Sequence) -> None:
        """Forget `sequence`; its number and the cells that nobody shares are free again."""
        if sequence in self.kept:
            self.kept.remove(sequence)
        self.context.remove(sequence.number)
        for span in sequence.spans:
            self._release(span)
        sequence.spans = []
        self.free.append(sequence.number)

    def keep(self, sequence: Sequence) -> None:
        """Keep `sequence` for prompts to come, in place of those that it only continues."""
        if not self.recurrent:
            for other in [k for k in self.kept if not k.pins and k is not sequence]:
                if len(other.ids) <= len(sequence.ids) and common(other.ids, sequence.ids) == len(
                    other.ids
                ):
                    self.drop(other)
        self.kept.append(sequence)

    def keep_copy(self, sequence: Sequence) -> None:
        """Keep what `sequence` holds now, unless that is kept or there is no number for it."""
        if any(kept.ids == sequence.ids for kept in self.kept):
            return
        sequence.pins += 1
        with suppress(LookupError):
            self.kept.append(self.fork(sequence, len(sequence.ids)))
        sequence.pins -= 1

    def touch(self, sequence: Sequence) -> None:
        """Note that a kept `sequence` was used just now."""
        self.kept.remove(sequence)
        self.kept.append(sequence)

    def evict(self) -> bool:
        """Move the kept sequence that was not used for longest out; False when there is none."""
        victim = next((kept for kept in self.kept if not kept.pins), None)
        if victim is None:
            return False
        if self.spare_bytes and len(victim.ids) >= _WORTH_SAVING:
            self._save(victim)
        self.drop(victim)
        return True

    def _save(self, sequence: Sequence) -> None:
        state = self.context.save(sequence.number)
        self.saved.append(Saved(sequence.ids, state, sequence.logits))
        total = sum(len(saved.state) for saved in self.saved)
        while total > self.spare_bytes:
            total -= len(self.saved.pop(0).state)

    def best(self, ids: array[int]) -> tuple[Sequence | None, int]:
        """Return the kept sequence that `ids` shares most with, and how many tokens of it.

        A recurrent state cannot be rewound: there it must be a prefix as a whole.
        """
        found, most = None, 0
        for kept in self.kept:
            length = self._usable(kept.ids, kept.logits is not None, ids)
            if length >= max(most, 1):
                found, most = kept, length
        return found, most

    def best_saved(self, ids: array[int]) -> tuple[Saved | None, int]:
        """Return the same among the sequences that were moved out."""
        found, most = None, 0
        for saved in self.saved:
            length = self._usable(saved.ids, saved.logits is not None, ids)
            if length >= max(most, 1):
                found, most = saved, length
        return found, most

    def _usable(self, have: array[int], logits: bool, wanted: array[int]) -> int:
        return usable(have, logits, wanted, rewind=not self.recurrent)

    def restore(self, saved: Saved, length: int) -> Sequence | None:
        """Bring the first `length` tokens of a saved sequence back; None when there is no room."""
        sequence = self.new()
        if not self.context.load(sequence.number, saved.state):
            self.context.remove(sequence.number)
            self.free.append(sequence.number)
            return None
        self.extend(sequence, list(saved.ids))
        sequence.logits = saved.logits
        self.cut(sequence, length)
        return sequence
