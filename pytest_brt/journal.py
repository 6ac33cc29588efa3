"""What an interrupted run had finished, so that the next one does not do it again.

A line per finished piece of work, appended when it is done. A run that ends by itself removes
the file; one that is interrupted, or killed, leaves it for the next run of the same things.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeVar

from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.errors import StoreProblem

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line of the file."""

    key: str
    #: JSON, as text: what it is, its reader knows.
    value: str
    #: `content_id` of both; a line with another one was changed by somebody.
    digest: str = ""


class Journal:
    """Keeps finished work in a file; safe to use from many threads."""

    def __init__(self, path: Path, setting: str) -> None:
        """Read what an interrupted run left.

        Args:
            path: the file; it need not exist.
            setting: names all that the results depend on besides what each is called by: the
                tree, the interpreter, the options. Work of another setting is not used.
        """
        self.path = path
        #: Pieces of work that were taken from the file.
        self.taken = 0
        self._setting = setting
        self._lock = Lock()
        self._closed = False
        found = _read(path)
        self._torn, self._lines = found.torn, dict(found.lines)
        #: Lines that are not as they were written, and are not used.
        self.changed = found.changed

    def get(self, kind: type[T], *names: str) -> T | None:
        """Return the finished work called by `names`; None when it is to be done."""
        with self._lock:
            text = self._lines.get(self._key(names))
        if text is None:
            return None
        try:
            value = from_json(text, kind)
        except StoreProblem:
            return None  # written by another version
        with self._lock:
            self.taken += 1
        return value

    def put(self, value: object, *names: str) -> None:
        """Keep finished work.

        A file that cannot be written costs the next run time, and nothing else: no error.
        """
        key, text = self._key(names), to_json(value)
        line = to_json(_Line(key=key, value=text, digest=content_id(key, text)))
        with self._lock:
            if self._closed:
                return
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("ab") as file:
                    # Not behind a line that was cut off: both would be lost.
                    start = b"\n" if self._torn else b""
                    file.write(start + line.encode("utf-8", "surrogateescape") + b"\n")
                self._torn = False
            except OSError:
                return

    def close(self, *, interrupted: bool) -> None:
        """Remove the file, unless the run was interrupted.

        Nothing is kept any more: what ends after an interruption was cut short by it.
        """
        with self._lock:
            self._closed = True
        if not interrupted:
            self.path.unlink(missing_ok=True)

    def _key(self, names: tuple[str, ...]) -> str:
        return content_id(self._setting, *names)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What a file holds."""

    lines: tuple[tuple[str, str], ...]
    #: How many lines are not as they were written.
    changed: int
    #: The last one was cut off.
    torn: bool


def _read(path: Path) -> _Read:
    try:
        data = path.read_bytes()
    except OSError:
        return _Read(lines=(), changed=0, torn=False)
    found = []
    changed = 0
    for text in data.splitlines():
        try:
            line = from_json(text, _Line)
        except StoreProblem:
            continue
        if line.digest == content_id(line.key, line.value):
            found.append((line.key, line.value))
        else:
            changed += 1
    torn = bool(data) and not data.endswith(b"\n")
    return _Read(lines=tuple(found), changed=changed, torn=torn)


class Held:
    """The right to a journal's file, for as long as one run goes on."""

    def __init__(self, path: Path) -> None:
        """Take it, unless another run has it."""
        #: Another run has it, and goes on: the file is not one that an interrupted run left.
        self.busy = False
        self._descriptor: int | None = None
        if sys.platform == "win32":
            return
        import fcntl

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.busy = True
            self.close()
        except OSError:
            self.close()  # a file that cannot be held: two runs at once may do the same work

    def close(self) -> None:
        """Give it back; safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
