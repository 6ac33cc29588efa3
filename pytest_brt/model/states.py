"""Keeps evaluated prefixes on disk, so that the next run does not evaluate them again.

A file holds a line of JSON (what it is for, lengths, digest), the token ids, the logits after the
last of them, and the state as llama.cpp gives it. What is damaged, or was made by another model,
adapter or version, is not loaded: llama.cpp itself does not check what it is given.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.model.sequences import Saved, usable

#: All states together; the ones not used for longest go first.
_MOST_BYTES = 4 << 30
_LONGEST_HEAD = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The first line of a state file."""

    #: Model, adapter and version of llama.cpp.
    key: str
    tokens: int
    #: Bytes of the logits and of the state.
    logits: int
    state: int
    #: Of logits and state.
    sha256: str


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A prefix on disk."""

    path: Path
    head: Head
    ids: array[int]


class StateFolder:
    """The prefixes of one model in one folder."""

    def __init__(self, folder: str, key: str) -> None:
        """Use `folder`, which is made when something is saved; "" keeps nothing."""
        self.folder = Path(folder) if folder else None
        self.key = key
        self._stored: list[Stored] | None = None

    def best(self, ids: array[int], *, rewind: bool) -> tuple[Stored | None, int]:
        """Return the stored prefix that `ids` shares most with, and how many tokens of it.

        Without `rewind` (recurrent models) only a prefix that is used to its end counts.
        """
        found, most = None, 0
        for stored in self._all():
            length = usable(stored.ids, stored.head.logits > 0, ids, rewind=rewind)
            if length > most:
                found, most = stored, length
        return found, most

    def load(self, stored: Stored) -> Saved | None:
        """Return what `stored` holds, or None (and the file is gone) when it is damaged."""
        head = stored.head
        try:
            raw = stored.path.read_bytes()
        except OSError:
            raw = b""
        body = raw[len(raw) - head.state - head.logits :]
        if not raw or hashlib.sha256(body).hexdigest() != head.sha256:
            self._forget(stored)
            return None
        with suppress(OSError):
            os.utime(stored.path)
        logits = np.frombuffer(body[: head.logits], np.float32) if head.logits else None
        return Saved(stored.ids, body[head.logits :], logits)

    def save(self, prefix: Saved) -> None:
        """Keep `prefix`; a full or read-only disk is no reason to fail."""
        if self.folder is None:
            return
        logits = b"" if prefix.logits is None else prefix.logits.tobytes()
        body = logits + prefix.state
        ids = prefix.ids
        head = Head(
            key=self.key,
            tokens=len(ids),
            logits=len(logits),
            state=len(prefix.state),
            sha256=hashlib.sha256(body).hexdigest(),
        )
        name = hashlib.sha256(self.key.encode() + ids.tobytes()).hexdigest()[:24]
        path = self.folder / f"{name}.state"
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(to_json(head).encode() + b"\n" + ids.tobytes() + body)
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink()
            return
        stored = self._all()
        if all(known.path != path for known in stored):
            stored.append(Stored(path, head, ids))
        self._shrink()

    def _all(self) -> list[Stored]:
        if self._stored is None:
            paths = sorted(self.folder.glob("*.state")) if self.folder else []
            read = (self._read(path) for path in paths)
            self._stored = [stored for stored in read if stored is not None]
        return self._stored

    def _read(self, path: Path) -> Stored | None:
        """Return what `path` holds, or None when it is not for this model."""
        ids = array("i")
        try:
            with path.open("rb") as file:
                line = file.readline(_LONGEST_HEAD)
                head = from_json(line, Head)
                if head.key != self.key or min(head.tokens, head.logits, head.state) < 0:
                    return None
                expected = len(line) + ids.itemsize * head.tokens + head.logits + head.state
                if path.stat().st_size != expected:
                    return None
                ids.frombytes(file.read(ids.itemsize * head.tokens))
        except (OSError, StoreProblem):
            return None
        return Stored(path, head, ids)

    def _forget(self, stored: Stored) -> None:
        self._all().remove(stored)
        with suppress(OSError):
            stored.path.unlink()

    def _shrink(self) -> None:
        """Delete the states that were not used for longest, of all models."""
        if self.folder is None:
            return
        with suppress(OSError):
            files = sorted(
                (path.stat().st_mtime, path.stat().st_size, path)
                for path in self.folder.glob("*.state")
            )
            total = sum(size for _, size, _ in files)
            while total > _MOST_BYTES and files:
                _, size, path = files.pop(0)
                path.unlink()
                total -= size
