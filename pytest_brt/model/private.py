"""A model in a GGUF file, served by a llama-server that is ours alone."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from pytest_brt.codec import from_json
from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.base import Prompt, Settings
from pytest_brt.model.host import Child, no_room
from pytest_brt.model.loopback import Loopback, TooLate, Unreachable
from pytest_brt.model.server import ServerModel
from pytest_brt.model.wire import Answer, Start

#: Seconds for a server to load its model.
_LOADING = 900.0
#: Times a server that has died is started again.
_LIVES = 3


class PrivateModel(ServerModel):
    """Asks a server of our own, started when it is first needed, and again when it has died."""

    def __init__(self, start: Start, settings: Settings, notes: tuple[str, ...]) -> None:
        super().__init__("http://127.0.0.1:1", settings)  # the server's own comes when it runs
        self.start = start
        self.name = start.name
        self.deaths: list[str] = []
        self._child: Child | None = None
        #: Holds the socket; nobody else may look into it.
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._starting = threading.Lock()
        self._closed = False
        for note in notes:
            self._remark(note)

    @property
    def pid(self) -> int:
        """The process id of the server, 0 when there is none."""
        child = self._child
        return child.pid if child else 0

    def count(self, asked: str | Prompt) -> int:
        """Return how many tokens a text or a prompt has, by the model's own tokenizer."""
        text, special = asked, isinstance(asked, Prompt)
        if isinstance(asked, Prompt):
            messages = [{"role": str(m.role), "content": m.text} for m in asked.messages]
            made = self._ask("/apply-template", {"messages": messages})
            text = str(made.get("prompt", "")) + asked.prefill
        whole = {"content": text, "add_special": special, "parse_special": special}
        tokens = self._ask("/tokenize", whole).get("tokens")
        return len(tokens) if isinstance(tokens, list) else 0

    def _ask(self, path: str, body: Mapping[str, object]) -> dict[str, object]:
        response = self._server().ask(path, 60.0, body)
        if response.status != 200 or not isinstance(response.body, dict):
            raise ModelProblem(f"llama-server fails: {response.status} {response.text[:200]!r}")
        return response.body

    def close(self) -> None:
        """End the server; what is being asked ends in ModelProblem."""
        self._closed = True
        super().close()
        self._end()

    def _server(self) -> Loopback:
        """Return a connection to the running server, after starting it if need be."""
        with self._starting:
            if self._closed:
                raise ModelProblem("the model was closed")
            if self._child is not None:
                if self.pid:
                    return self.server
                how = self._child.how()
                self.deaths.append(how)
                self._end()
                if len(self.deaths) >= _LIVES:
                    raise ModelProblem(
                        f"the model's server died {_LIVES} times: {how} (another "
                        "engine: --brt-engine inprocess; a smaller context: --brt-context N)"
                    )
                self._remark(f"the model's server died ({how}); started again")
            self.server = self._begin()
            return self.server

    def _begin(self) -> Loopback:
        try:
            self._folder = tempfile.TemporaryDirectory(
                prefix="brt-server-", ignore_cleanup_errors=True
            )
        except OSError as error:
            raise no_room(error) from error
        start = replace(self.start, socket=f"{self._folder.name}/s.sock")
        self._child = child = Child("pytest_brt.model.llama_server", start)
        try:
            answer = from_json(child.output.readline(), Answer)
        except StoreProblem:
            answer = Answer(id=0, problem=child.how())
        if not answer.ready:
            raise self._given_up(f"{answer.problem} (another engine: --brt-engine inprocess)")
        loopback = Loopback(f"unix://{start.socket}")
        end = time.monotonic() + _LOADING
        while time.monotonic() < end and child.pid:
            with suppress(Unreachable, TooLate):
                if loopback.ask("/health", 10.0).status == 200:
                    return loopback
            time.sleep(0.1)
        raise self._given_up("it did not load its model in time" if child.pid else child.how())

    def _given_up(self, why: str) -> ModelProblem:
        self._end()
        return ModelProblem(f"llama-server cannot serve {self.start.path!r}: {why}")

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._child = self._folder = None
