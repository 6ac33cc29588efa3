"""How far a run is: what its threads say, kept for the one that shows it."""

from __future__ import annotations

import logging
from collections import deque

from pytest_brt.shown import plain

_LOG = logging.getLogger("pytest_brt")


class Progress:
    """Takes lines from many threads, and gives them to the one that shows them."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()

    def say(self, text: str) -> None:
        """Take a line; it also goes to the log, which ``--log-cli-level=info`` shows."""
        text = plain(text)
        _LOG.info("%s", text)
        self._lines.append(text)

    def taken(self) -> list[str]:
        """Return the lines that were said since."""
        return [self._lines.popleft() for _ in range(len(self._lines))]
