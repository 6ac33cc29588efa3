"""Runs side by side, and one that has the machine for itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Turns:
    """At most so many runs at a time; who needs the machine waits until all have ended."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._changed = Condition()
        #: What the runs under way are called, and which others they met; they know of each other.
        self._running: list[tuple[str, set[str]]] = []
        self._waiting_alone = 0

    @contextmanager
    def beside(self, name: str) -> Iterator[set[str]]:
        """Take a turn; what is given grows by the names of the runs that are met meanwhile."""
        mine: tuple[str, set[str]] = (name, set())
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._running) < self._jobs and not self._waiting_alone
            )
            for other, met in self._running:
                met.add(name)
                mine[1].add(other)
            self._running.append(mine)
        try:
            yield mine[1]
        finally:
            self._leave(mine)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Take a turn with nothing beside it."""
        mine: tuple[str, set[str]] = ("", set())
        with self._changed:
            self._waiting_alone += 1
            self._changed.wait_for(lambda: not self._running)
            self._waiting_alone -= 1
            self._running += [mine] * self._jobs
        try:
            yield
        finally:
            for _ in range(self._jobs):
                self._leave(mine)

    def _leave(self, mine: tuple[str, set[str]]) -> None:
        with self._changed:
            # Another run may have the same name, and have met the same ones: equal, and not this.
            place = next(at for at, run in enumerate(self._running) if run is mine)
            del self._running[place]
            self._changed.notify_all()
