"""Whose turn it is on this machine: rows run beside each other, and one alone where need be."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Turn:
    """One row that runs."""

    name: str
    #: The names of the rows that ran at some time while it did.
    beside: set[str] = field(default_factory=set)


class Turns:
    """Gives turns, at most so many at a time; safe to use from many threads."""

    def __init__(self, most: int) -> None:
        self._most = max(1, most)
        self._changed = threading.Condition()
        self._running: list[Turn] = []
        self._waiting_alone = 0
        self._is_alone = False

    @contextmanager
    def beside(self, name: str) -> Iterator[Turn]:
        """Wait for a turn beside others; who waits to be alone comes first."""
        turn = Turn(name)
        with self._changed:
            self._changed.wait_for(self._has_room)
            for other in self._running:
                other.beside.add(name)
                turn.beside.add(other.name)
            self._running.append(turn)
        try:
            yield turn
        finally:
            with self._changed:
                self._running.remove(turn)
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody else has a turn, and keep others waiting; nothing is held meanwhile."""
        with self._changed:
            self._waiting_alone += 1
            try:
                self._changed.wait_for(lambda: not self._running and not self._is_alone)
            finally:
                self._waiting_alone -= 1
            self._is_alone = True
        try:
            yield
        finally:
            with self._changed:
                self._is_alone = False
                self._changed.notify_all()

    def _has_room(self) -> bool:
        return not self._is_alone and not self._waiting_alone and len(self._running) < self._most
