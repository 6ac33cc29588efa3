"""How far a run is: what its threads say, kept for the one that shows it."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

from pytest_brt.shown import plain

_LOG = logging.getLogger("pytest_brt")


class Progress:
    """Takes lines from many threads, and gives them to the one that shows them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lines: deque[tuple[str, float]] = deque()
        #: The last line that was taken, and when it was said.
        self._last = ("", 0.0)
        self._shown = clock()

    def say(self, text: str) -> None:
        """Take a line; it also goes to the log, which ``--log-cli-level=info`` shows."""
        text = plain(text)
        _LOG.info("%s", text)
        self._lines.append((text, self._clock()))

    def taken(self) -> list[str]:
        """Return the lines that were said since."""
        return [self._lines.popleft()[0] for _ in range(len(self._lines))]

    def sign_of_life(self, apart: float) -> list[str]:
        """Return the last line and how long ago it was said, at most every `apart` seconds."""
        now = self._clock()
        if now < self._shown + apart:
            return []
        for _ in range(len(self._lines)):
            self._last = self._lines.popleft()
        text, when = self._last
        if not text:
            return []
        self._shown = now
        return [f"{text} ({now - when:.0f} s ago)"]
