"""The model of a run: what is asked of it is paid for, kept, and never asked twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_brt.errors import ModelProblem, Overflowed
from pytest_brt.model.child import Child
from pytest_brt.model.client import Server, Unreachable
from pytest_brt.model.replies import Replies
from pytest_brt.model.request import Message, Reply, Request, Usage, estimate
from pytest_brt.model.spec import Spec


class Backend:
    """What answers: a server, or a private one that is started when it is first asked."""

    def __init__(self, spec: Spec | None) -> None:
        """Take what ``--brt-model`` names, None for no model."""
        self.spec = spec
        self._server = spec.connect() if spec is not None and spec.path is None else None
        #: The process of a private server, None for one that others run or nobody has asked yet.
        self.child: Child | None = None
        self._lock = threading.Lock()

    def server(self) -> Server:
        """Return the server, which knows its name and context.

        Raises:
            ModelProblem: it cannot be reached or started, or there is none.
        """
        if self.spec is None:
            raise ModelProblem(
                "this needs a model and none was chosen (--brt-model gguf:FILE, or 'pytest-brt "
                "models' for what there is)"
            )
        with self._lock:
            if self.child is not None and not self.child.is_alive:
                self.child.close()
                self.child = None
            if self.spec.path is not None and self.child is None:
                self.child = Child(self.spec.path, self.spec.context, self.spec.engine)
                self._server = self.child.server
            assert self._server is not None, "a spec without a file has a server"
            self._server.open()
            return self._server

    @property
    def has_died(self) -> bool:
        """Whether a private server ended, so that another one is to be started."""
        return self.child is not None and not self.child.is_alive

    def close(self) -> None:
        """End the process and every connection; who waits for an answer gets an error."""
        if self._server is not None:
            self._server.close()
        if self.child is not None:
            self.child.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as one piece of work sees it; safe to use from many threads."""

    backend: Backend
    usage: Usage
    replies: Replies
    #: Those of strategies that ask again what an earlier run was answered that ended.
    unfinished: Replies

    @property
    def name(self) -> str:
        """What it is called in records, "none" where there is none."""
        return self.backend.spec.text if self.backend.spec is not None else "none"

    @property
    def context(self) -> int:
        """Tokens that a prompt and its reply can have together.

        Raises:
            ModelProblem: the server cannot be reached or started.
        """
        try:
            return self.backend.server().context
        except ModelProblem as problem:
            self._fail(problem)
            raise

    def paid_by(self, usage: Usage, *, asks_again: bool = False) -> Model:
        """Return it for a piece of work that spends on its own, and may ask again."""
        replies = self.unfinished if asks_again else self.replies
        return replace(self, usage=usage, replies=replies)

    def count(self, asked: str | Sequence[Message]) -> int:
        """Return an estimate of the tokens, hardly ever too low."""
        return estimate(asked)

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
            try:
                self._ask(request, keys)
            except Unreachable:
                if not self.backend.has_died:
                    raise
                self._ask(request, keys)  # of another process, once
        except ModelProblem as problem:
            self._fail(problem)
            if isinstance(problem, Overflowed) or not any(map(self.replies.get, keys)):
                raise
        return [reply for key in keys if (reply := self.replies.get(key))]

    def text(self, request: Request) -> str:
        """Return the text of one reply; raises as `complete` does."""
        return self.complete(request)[0].text

    def _ask(self, request: Request, keys: Sequence[str]) -> None:
        """Ask for the replies that are not known."""
        missing = [number for number, key in enumerate(keys) if self.replies.get(key) is None]
        if not missing:
            return
        self.usage.seconds_left()
        server = self.backend.server()
        for replies, cost in server.ask(request, tuple(missing), self.usage.deadline):
            self.usage.add(cost)
            for reply in replies:
                self.replies.put(keys[missing.pop(0)], self.name, request, reply)

    def close(self) -> None:
        """End the process and every connection."""
        self.backend.close()

    def _fail(self, problem: ModelProblem) -> None:
        if self.backend.spec is not None:
            self.usage.fail(str(problem))
