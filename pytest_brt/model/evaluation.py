"""Evaluating batches, which those who asked for them may give up meanwhile."""

from __future__ import annotations

import threading

from pytest_brt.model.context import Context

#: What `Evaluation.run` returns, as llama.cpp does.
DONE, NO_ROOM, STOPPED = 0, 1, 2


class Evaluation:
    """Evaluates one batch after the other."""

    def __init__(self, context: Context) -> None:
        self.context = context
        #: Tokens evaluated since the start, for figures.
        self.tokens = 0
        self._dropped: set[int] = set()
        self._in_flight: frozenset[int] = frozenset()
        self._lock = threading.Lock()

    def drop(self, key: int) -> None:
        """Give a prompt up; may be called from another thread, also during an evaluation."""
        with self._lock:
            self._dropped.add(key)
            if self._in_flight and self._in_flight <= self._dropped:
                self.context.brake(True)

    def take_dropped(self) -> set[int]:
        """Return what was given up since the last call."""
        with self._lock:
            dropped, self._dropped = self._dropped, set()
        return dropped

    def run(
        self,
        entries: list[tuple[list[int], int, int, bool]],
        keys: frozenset[int] = frozenset(),
    ) -> int:
        """Evaluate a batch (see `Context.decode`); return its status.

        It is stopped once all of `keys`, the prompts it is for, are given up; without any it
        is not.
        """
        with self._lock:
            self._in_flight = keys
            if keys and keys <= self._dropped:
                self._in_flight = frozenset()
                return STOPPED
        status = self.context.decode(entries)
        with self._lock:
            self._in_flight = frozenset()
            self.context.brake(False)
        if status == DONE:
            self.tokens += sum(len(tokens) for tokens, *_ in entries)
        return status
