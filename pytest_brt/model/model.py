"""The model of a run: what is asked of it is paid for, kept, and never asked twice.

Replies are kept in a file of JSON lines: cache, record, replay and resume in one. A reply is known
by its request, without the paths of this machine, and by the sample's number. Nothing is asked
twice, in this run or in a later one with the same file.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_brt.codec import content_id, to_json
from pytest_brt.errors import ModelProblem, OutOfTime, Overflowed
from pytest_brt.model.client import Server
from pytest_brt.model.request import Message, Reply, Request, Usage
from pytest_brt.model.spec import Spec, home
from pytest_brt.store import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as one piece of work sees it; safe to use from many threads."""

    #: What it is called in records, "none" where there is none.
    name: str = "none"
    #: What answers; None where there is no model.
    server: Server | None = None
    usage: Usage = field(default_factory=Usage)
    replies: Replies
    #: Those of strategies that ask again what an earlier run was answered that ended.
    unfinished: Replies

    @property
    def context(self) -> int:
        """Tokens that a prompt and its reply can have together.

        Raises:
            ModelProblem: the server cannot be reached or started.
        """
        return self._opened().context

    def paid_by(self, usage: Usage, *, asks_again: bool = False) -> Model:
        """Return it for a piece of work that spends on its own, and may ask again."""
        replies = self.unfinished if asks_again else self.replies
        return replace(self, usage=usage, replies=replies)

    def complete(self, request: Request) -> list[Reply]:
        """Return `request.n` replies; those that are known cost nothing.

        Where time is over, or the model is lost on the way, they are fewer.

        Raises:
            Overflowed: the prompt does not fit.
            OutOfTime: there is no reply in time.
            ModelProblem: the model cannot be reached, or refuses the request.
        """
        keys = [self.replies.key(self.name, request, number) for number in range(request.n)]
        try:
            self._ask(request, keys)
        except ModelProblem as problem:
            if self.server is not None:
                self.usage.fail(str(problem))
            if isinstance(problem, Overflowed) or not any(map(self.replies.find, keys)):
                raise
        return [reply for key in keys if (reply := self.replies.find(key))]

    def text(self, request: Request) -> str:
        """Return the text of one reply; raises as `complete` does."""
        return self.complete(request)[0].text

    def _opened(self) -> Server:
        """Return the server, which knows its name and context."""
        if self.server is None:
            raise ModelProblem(
                "this needs a model and none was chosen (--brt-model gguf:FILE, or 'pytest-brt "
                "models' for what there is)"
            )
        try:
            self.server.open()
        except ModelProblem as problem:
            self.usage.fail(str(problem))
            raise
        return self.server

    def _ask(self, request: Request, keys: Sequence[str]) -> None:
        """Ask for the replies that are not known."""
        missing = [number for number, key in enumerate(keys) if not self.replies.find(key)]
        if not missing:
            return
        if self.usage.is_over:
            raise OutOfTime("the time for this run is used up (--brt-budget)")
        for replies, cost in self._opened().ask(request, tuple(missing), self.usage.deadline):
            self.usage.add(cost)
            for reply in replies:
                self.replies.keep(keys[missing.pop(0)], self.name, request, reply)

    def close(self) -> None:
        """End the process and every connection; who waits for an answer gets an error."""
        if self.server is not None:
            self.server.close()


def open_model(spec: Spec, replies: Replies, unfinished: Replies | None = None) -> Model:
    """Return the model that ``--brt-model`` names; it is asked later.

    Raises:
        ModelProblem: it is not on this machine.
    """
    return Model(
        name=spec.text, server=spec.server, replies=replies, unfinished=unfinished or replies
    )
