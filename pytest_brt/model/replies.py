"""Keeps replies in a file of JSON lines: cache, record, replay and resume in one.

A reply is known by its request, without the paths of this machine, and by the sample's number.
Nothing is asked twice, in this run or in a later one with the same file.
"""

from __future__ import annotations

import re
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.model.request import Message, Reply, Request
from pytest_brt.model.spec import home

#: Bytes of a file, which may hold all replies of a study.
_MOST = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line of the file."""

    key: str
    model: str
    messages: tuple[Message, ...]
    reply: Reply


class Replies:
    """The replies in a file; safe to use from many threads."""

    def __init__(self, path: Path | None, root: Path | None = None) -> None:
        """Read the file at `path`, which need not exist; None keeps replies in memory.

        No key depends on where the project's `root` is.

        Raises:
            StoreProblem: it cannot be read, or a line other than the last is damaged.
        """
        self.path = path
        #: Replies by what identifies them.
        self.known: dict[str, Reply] = {}
        self._lock = threading.Lock()
        folders = [str(one) for one in (root, tempfile.gettempdir(), home()) if one]
        self._machine = re.compile("|".join(map(re.escape, folders)))
        try:
            data = read_bounded(path, _MOST) if path and path.exists() else b""
        except OSError as error:
            raise StoreProblem(f"cannot read replies: {str(path)!r}: {error.strerror}") from error
        lines = data.strip().split(b"\n") if data else []
        for number, line in enumerate(lines, 1):
            try:
                kept = from_json(line, _Line)
            except StoreProblem as error:
                if number == len(lines):
                    break  # cut off while it was written
                what = f"line {number} of {str(path)!r} is no reply: {error} (delete the file)"
                raise StoreProblem(what) from error
            self.known[kept.key] = kept.reply

    def key(self, model: str, request: Request, number: int) -> str:
        """Return what identifies the reply to sample `number` of a request."""
        seed = 0 if request.temperature <= 0 else request.seed + number
        text = self._machine.sub("", to_json(replace(request, n=1, seed=seed)))
        return content_id(model, text, str(number) if not seed else "")

    def put(self, key: str, model: str, request: Request, reply: Reply) -> None:
        """Keep a reply.

        Raises:
            StoreProblem: the file cannot be written.
        """
        self.known[key] = reply
        if self.path is None:
            return
        line = to_json(_Line(key=key, model=model, messages=request.messages, reply=reply))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock, self.path.open("ab") as file:
                file.write(f"{line}\n".encode("utf-8", "replace"))
        except OSError as error:
            what = f"cannot keep replies: {str(self.path)!r}: {error.strerror}"
            raise StoreProblem(what) from error

    def forget(self) -> None:
        """Remove the file: what it was kept for has ended."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
