"""The model of a run: what is asked of it is paid for, kept, and never asked twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from pytest_brt.errors import ModelProblem, OutOfTime, Overflowed
from pytest_brt.model.client import Server
from pytest_brt.model.replies import Replies
from pytest_brt.model.request import Reply, Request, Usage
from pytest_brt.model.spec import Spec
from pytest_brt.types.note import value


@value
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
        for replies, cost in self._opened().ask(
            request, tuple(missing), self.usage.deadline
        ):
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
        name=spec.text,
        server=spec.server,
        replies=replies,
        unfinished=unfinished or replies,
    )
