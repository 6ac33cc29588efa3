"""Finds what is already evaluated of a prompt: in the context, moved out of it, or on disk."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from pytest_brt.model.base import Role
from pytest_brt.model.job import Job
from pytest_brt.model.sequences import Saved, Sequence, Sequences
from pytest_brt.model.states import StateFolder

#: A prefix is fetched when it is this much longer than what is at hand.
_WORTH_FETCHING = 32
#: New tokens from which on a first prompt is kept on disk.
_WORTH_STORING = 256


class Prefixes:
    """The beginnings that prompts can be continued from."""

    def __init__(
        self, sequences: Sequences, states: StateFolder, make_room: Callable[[int], bool]
    ) -> None:
        self.sequences = sequences
        self.states = states
        self.make_room = make_room

    def beginning(self, ids: array[int], base: Sequence | None, length: int) -> Sequence:
        """Return a sequence with as much of `ids` as is known: kept, moved out or on disk."""
        saved, from_saved = self.sequences.best_saved(ids)
        stored, from_disk = self.states.best(ids, rewind=not self.sequences.recurrent)
        if stored is not None and from_disk > max(length, from_saved) + _WORTH_FETCHING:
            loaded = self.states.load(stored)
            if loaded is not None:
                saved, from_saved = loaded, from_disk
        if saved is not None and from_saved > length + _WORTH_FETCHING:
            restored = None
            if self.make_room(len(saved.ids) + len(ids) - from_saved):
                restored = self.sequences.restore(saved, from_saved)
            if restored is not None:
                if len(restored.ids) == len(ids):
                    self.sequences.keep(restored)
                return restored
        if base is None:
            return self.sequences.new()
        self.sequences.touch(base)
        if length == len(ids):
            return base
        return self.sequences.fork(base, length)

    def store(self, job: Job) -> None:
        """Keep a first prompt on disk when it was long to evaluate."""
        if job.evaluated < _WORTH_STORING or self.states.folder is None:
            return
        if any(message.role is Role.ASSISTANT for message in job.prompt.messages):
            return
        assert job.trunk is not None
        state = self.sequences.context.save(job.trunk.number)
        self.states.save(Saved(job.trunk.ids[:], state, job.trunk.logits))
