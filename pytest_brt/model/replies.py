"""Replies of models in a file of JSON lines: cache, record, replay and resume in one.

A reply is known by its request, without the paths of this machine, and by the sample's number.
Nothing is asked twice, in this run or in a later one with the same file.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from pytest_brt.codec import content_id, to_json
from pytest_brt.model.request import Message, Reply, Request
from pytest_brt.model.spec import home
from pytest_brt.store import Journal
from pytest_brt.types.note import value


@value
class _Exchange:
    """What is kept of a reply: also the prompt, for people."""

    model: str
    messages: tuple[Message, ...]
    reply: Reply


class Replies(Journal):
    """The replies in a file; safe to use from many threads."""

    def __init__(self, path: Path | None, root: Path | None = None) -> None:
        """Read the file at `path`, which need not exist; None keeps replies in memory.

        No key depends on where the project's `root` is.

        Raises:
            StoreProblem: it cannot be read.
        """
        super().__init__(path)
        folders = [str(one) for one in (root, tempfile.gettempdir(), home()) if one]
        self._machine = re.compile("|".join(map(re.escape, folders)))

    def key(self, model: str, request: Request, number: int) -> str:
        """Return what identifies the reply to sample `number` of a request."""
        seed = 0 if request.temperature <= 0 else request.seed + number
        text = self._machine.sub("", to_json(replace(request, n=1, seed=seed)))
        return content_id(model, text, str(number) if not seed else "")

    def find(self, key: str) -> Reply | None:
        """Return a reply, None where it is not known."""
        exchange = self.get(_Exchange, key)
        return exchange.reply if exchange else None

    def keep(self, key: str, model: str, request: Request, reply: Reply) -> None:
        """Keep a reply.

        Raises:
            StoreProblem: the file cannot be written.
        """
        self.put(_Exchange(model=model, messages=request.messages, reply=reply), key)
