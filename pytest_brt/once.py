"""Work that many threads ask for and that is done once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Once(Generic[K, V]):
    """Values by their keys, each made by the thread that asks for it first.

    Others wait for its work, which has begun already, and not for a lock. Where it fails, they fail
    as it does.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[K, Future[V]] = {}

    def get(self, key: K, work: Callable[[], V]) -> V:
        """Return the value of `key`, by `work` where nobody has asked for it yet."""
        return self.get_all([key], lambda _: [work()])[0]

    def get_all(
        self, keys: Iterable[K], work: Callable[[Sequence[K]], Sequence[V]]
    ) -> tuple[V, ...]:
        """Return the values of `keys`, by `work` for those that nobody has asked for yet."""
        wanted = tuple(keys)
        with self._lock:
            mine = [key for key in dict.fromkeys(wanted) if key not in self._known]
            self._known |= {key: Future() for key in mine}
        try:
            for key, value in zip(mine, work(mine) if mine else (), strict=True):
                self._known[key].set_result(value)
        except BaseException as error:  # whoever waits gets it, we too
            for key in mine:
                self._known[key].set_exception(error)
        return tuple(self._known[key].result() for key in wanted)
