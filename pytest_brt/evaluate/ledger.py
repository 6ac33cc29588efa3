"""Finished work of a study, kept in the folder of its results: a journal per process.

Whoever finishes a job appends to a file of its own, so that no two processes write to the same
one; on reading all of them are one. The files stay: the same study asked for again is read.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from threading import Lock
from typing import TypeVar

from pytest_brt.codec import content_id
from pytest_brt.store import Journal

T = TypeVar("T")


class Ledger:
    """Reads all journals of a folder, and writes one; safe to use from many threads."""

    def __init__(self, folder: Path, setting: str) -> None:
        """Read what earlier processes finished in `folder`, under the same `setting`."""
        host = content_id(socket.gethostname())
        own = folder / f"journal-{host}-{os.getpid()}.jsonl"
        self.folder = folder
        self.setting = setting
        #: Results that were taken instead of made.
        self.taken = 0
        self._own = Journal(own, setting)
        others = sorted(path for path in folder.glob("journal-*.jsonl") if path != own)
        self._others = tuple(Journal(path, setting) for path in others)
        self._lock = Lock()

    def get(self, kind: type[T], *names: str) -> T | None:
        """Return finished work; None when it is to be done."""
        for journal in (self._own, *self._others):
            value = journal.get(kind, *names)
            if value is not None:
                with self._lock:
                    self.taken += 1
                return value
        return None

    def put(self, value: object, *names: str) -> None:
        """Keep finished work."""
        self._own.put(value, *names)
