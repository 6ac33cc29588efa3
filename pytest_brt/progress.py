"""What long work says while it goes on, kept until there is a good moment to show it."""

from __future__ import annotations

import logging
import queue
from collections.abc import Iterator

import pytest

from pytest_brt.report.plain import plain

_LOG = logging.getLogger("pytest_brt")


class Progress:
    """Takes lines from many threads, and gives them to the one that shows them."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def say(self, text: str) -> None:
        """Take a line; it also goes to the log, which ``--log-cli-level=info`` shows."""
        text = plain(text)
        _LOG.info("%s", text)
        self._lines.put(text)

    def taken(self) -> Iterator[str]:
        """Yield the lines that were said since."""
        while True:
            try:
                yield self._lines.get_nowait()
            except queue.Empty:
                return


#: Where a session keeps its own.
PROGRESS = pytest.StashKey[Progress]()
