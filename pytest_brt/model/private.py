"""A model in a GGUF file, served by a llama-server that is ours alone."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.base import Prompt, Settings
from pytest_brt.model.host import environment, last_line
from pytest_brt.model.launcher import PACKAGE, Launch, Launched
from pytest_brt.model.loopback import Loopback, TooLate, Unreachable
from pytest_brt.model.server import ServerModel

#: Seconds for a server to load its model.
_LOADING = 900.0
#: Times a server that has died is started again.
_LIVES = 3


class PrivateServer:
    """The process of the server; started when it is first needed, and again when it has died."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.deaths: list[str] = []
        self._popen: subprocess.Popen[bytes] | None = None
        self._loopback: Loopback | None = None
        self._said: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def pid(self) -> int:
        """The process id of the server, 0 when there is none."""
        return self._popen.pid if self._popen and self._popen.poll() is None else 0

    def connect(self) -> Loopback:
        """Return a connection to the running server, after starting it if need be.

        Raises:
            ModelProblem: it cannot be started, or has died too often.
        """
        with self._lock:
            if self._closed:
                raise ModelProblem("the model was closed")
            if self._loopback is not None and self.pid:
                return self._loopback
            if self._popen is not None:
                self.deaths.append(self._how())
                self._end()
                if len(self.deaths) >= _LIVES:
                    raise ModelProblem(
                        f"the model's server died {_LIVES} times: {self.deaths[-1]} (another "
                        "engine: --brt-engine inprocess; a smaller context: --brt-context N)"
                    )
            self._loopback = self._start()
            return self._loopback

    def _start(self) -> Loopback:
        if self._said is None:
            self._said = tempfile.TemporaryFile()  # noqa: SIM115  # for all lives of the server
        self._popen = popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "pytest_brt.model.launcher"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment(),
            start_new_session=True,  # Ctrl-C is for the parent, which ends this process itself
        )
        assert popen.stdin is not None
        assert popen.stdout is not None
        with suppress(OSError):  # a process that is gone is noticed below
            popen.stdin.write(to_json(self.launch).encode() + b"\n")
            popen.stdin.flush()
        try:
            launched = from_json(popen.stdout.readline(), Launched)
        except StoreProblem:
            launched = Launched(problem=self._how())
        if launched.problem:
            self._end()
            self._popen = None
            raise ModelProblem(
                f"llama-server cannot serve {self.launch.path!r}: {launched.problem} (another "
                "engine: --brt-engine inprocess)"
            )
        loopback = Loopback(launched.address, {"Authorization": f"Bearer {self.launch.key}"})
        self._await(loopback)
        return loopback

    def _await(self, loopback: Loopback) -> None:
        """Wait until the model is loaded."""
        end = time.monotonic() + _LOADING
        while time.monotonic() < end and self.pid:
            with suppress(Unreachable, TooLate):
                if loopback.get("/health", 10.0).status == 200:
                    return
            time.sleep(0.1)
        how = "it did not load its model in time" if self.pid else self._how()
        self._end()
        self._popen = None
        raise ModelProblem(f"llama-server cannot serve {self.launch.path!r}: {how}")

    def _how(self) -> str:
        """Say how the process ended."""
        assert self._popen is not None
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(1.0)
        code = self._popen.returncode
        how = "it hangs" if code is None else f"exit status {code}"
        if code is not None and code < 0:
            how = signal.Signals(-code).name
        said = last_line(self._said) if self._said else ""
        return f"{how}: {said[-200:]}" if said else how

    def _end(self) -> None:
        if self._popen is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait()
            for stream in (self._popen.stdin, self._popen.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
        self._loopback = None

    def close(self) -> None:
        """End the server; what is being asked ends in ModelProblem."""
        self._closed = True
        loopback = self._loopback
        if loopback is not None:
            loopback.close()
        self._end()
        if self._said is not None:
            self._said.close()


class PrivateModel(ServerModel):
    """Asks a server of our own; tokens are counted by it, exactly."""

    exact = True

    def __init__(self, server: PrivateServer, settings: Settings, notes: tuple[str, ...]) -> None:
        super().__init__("http://127.0.0.1:1", settings)  # the server's own comes when it runs
        self.process = server
        self.name = Path(server.launch.path).name
        if server.launch.adapter:
            self.name += f"+{Path(server.launch.adapter).name}"
        for note in notes:
            self._remark(note)

    def _server(self) -> Loopback:
        before = len(self.process.deaths)
        self.server = self.process.connect()
        for how in self.process.deaths[before:]:
            self._remark(f"the model's server died ({how}); started again")
        return self.server

    def count(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Return how many tokens each of `texts` has, by the model's own tokenizer."""
        return tuple(self._tokens(text) if text else 0 for text in texts)

    def measure(self, prompt: Prompt) -> int:
        """Return how many tokens `prompt` has with the template around it."""
        messages = [{"role": str(m.role), "content": m.text} for m in prompt.messages]
        made = self._ask("/apply-template", {"messages": messages})
        return self._tokens(str(made.get("prompt", "")) + prompt.prefill, special=True)

    def _tokens(self, text: str, *, special: bool = False) -> int:
        asked = {"content": text, "add_special": special, "parse_special": special}
        tokens = self._ask("/tokenize", asked).get("tokens")
        return len(tokens) if isinstance(tokens, list) else 0

    def _ask(self, path: str, body: dict[str, object]) -> dict[str, object]:
        response = self._server().post(path, body, 60.0)
        if response.status != 200 or not isinstance(response.body, dict):
            raise ModelProblem(f"llama-server fails: {response.status} {response.text[:200]!r}")
        return response.body

    def close(self) -> None:
        """End the server."""
        self.process.close()


def open_private(
    launch: Launch, settings: Settings, *, found: str, notes: tuple[str, ...] = ()
) -> PrivateModel:
    """Return the model of `launch`, served by what `find_server` found; nothing starts yet."""
    program = "" if found == PACKAGE else found
    server = PrivateServer(replace(launch, program=program, key=secrets.token_hex(16)))
    return PrivateModel(server, settings, notes)
