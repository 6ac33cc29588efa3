"""A llama-server of our own: the one in the xllamacpp wheel, or a program of that name."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem
from pytest_brt.model.base import Completion, ModelFailed, Prompt, Settings
from pytest_brt.model.own_model import OwnModel
from pytest_brt.model.process import Process, ProcessDied
from pytest_brt.model.server import ServerModel
from pytest_brt.model.wire import Answer, Start
from pytest_brt.types.model import CannotLoad, CannotSpare, Rejected, Rejection, Unreachable

#: The program, and the package that holds the same server.
PROGRAM, PACKAGE = "llama-server", "xllamacpp"
#: The one program of llama.cpp's newer installations, which serves by a command.
LLAMA = "llama"
#: Seconds for a program to print its help, for a server to load its model, and to count tokens.
_HELP, _LOADING, _COUNTING = 10.0, 900.0, 60.0
#: Seconds for which a server that does not answer is tried, before it counts as dead.
_PATIENCE = 1.0


def find_server() -> str:
    """Return the path of llama-server or of llama, the name of the package that has one, or ""."""
    program = shutil.which(PROGRAM)
    if program:
        return program
    llama = shutil.which(LLAMA)
    if llama and _serves(llama):
        return llama
    return PACKAGE if find_spec(PACKAGE) is not None else ""


def _serves(llama: str) -> bool:
    """Whether the program `llama` is llama.cpp's: others have that name too."""
    asked = [llama, "serve", "--help"]
    try:
        done = subprocess.run(
            asked, capture_output=True, stdin=subprocess.DEVNULL, timeout=_HELP, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"--ctx-size" in done.stdout + done.stderr


def arguments(start: Start) -> list[str]:
    """Return the command line of the program."""
    plan = start.plan
    words: dict[str, object] = {
        "--model": start.path,
        "--host": start.socket,
        "--ctx-size": plan.cells,
        "--parallel": plan.lanes,
        "--threads": plan.threads,
        "--n-cpu-moe": start.cpu_experts,
    }
    if start.gpu_layers >= 0:
        words["--n-gpu-layers"] = str(start.gpu_layers)
    if start.cache_type != "f16":  # which only flash attention can read
        words |= {"--cache-type-k": start.cache_type, "--cache-type-v": start.cache_type}
        words["--flash-attn"] = "on"
    command = [start.program, "serve"] if Path(start.program).stem == LLAMA else [start.program]
    for name, value in words.items():
        if value:
            command += [name, str(value)]
    return [*command, "--kv-unified", "--jinja", "--no-warmup", "--offline"]


class ServerProcess(Process):
    """A server of ours, and who asks it."""

    def __init__(self, start: Start) -> None:
        """Start it; the socket lies in a folder that nobody else may look into.

        Raises:
            ModelFailed: there is no room for the folder.
        """
        try:
            self.folder = tempfile.TemporaryDirectory(
                prefix="brt-server-", ignore_cleanup_errors=True
            )
        except OSError as error:
            raise ModelFailed(CannotSpare(reason=str(error.strerror))) from error
        start = replace(start, socket=f"{self.folder.name}/s.sock")
        settings = Settings(patience=_PATIENCE, comeback=_PATIENCE)
        self.server = ServerModel(f"unix://{start.socket}", settings)
        try:
            super().__init__("pytest_brt.model.serve", start)
        except BaseException:
            self.folder.cleanup()
            raise

    def load(self, path: str) -> None:
        """Wait until the model of the file at `path` is loaded.

        Raises:
            ProcessDied: the process ended.
            ModelFailed: the server cannot serve it.
        """
        try:
            answer = from_json(self.output.readline(), Answer)
        except StoreProblem:
            raise ProcessDied(self.death()) from None
        said = answer.problem
        end = time.monotonic() + _LOADING
        while answer.ready and self.pid and time.monotonic() < end:
            with suppress(ModelFailed):
                if self.server.server.ask("/health", _COUNTING).status == 200:
                    return
            time.sleep(0.1)
        if not self.pid:
            said = said or self.death().said
        raise ModelFailed(CannotLoad(path=path, said=said or "no answer in time", served=True))

    def ask(self, path: str, body: Mapping[str, object]) -> dict[str, object]:
        """Return the JSON object that it answers to `body`.

        Raises:
            ModelFailed: it answers something else, or not at all.
        """
        response = self.server.server.ask(path, _COUNTING, body)
        if response.status == 200 and isinstance(response.body, dict):
            return response.body
        fault = Rejected(
            url=self.server.server.url,
            why=Rejection.FAILS,
            status=response.status,
            said=response.text[:200],
        )
        raise ModelFailed(fault)

    def end(self) -> None:
        """End the process, and remove its socket."""
        self.server.close()
        super().end()
        self.folder.cleanup()


class PrivateModel(OwnModel[ServerProcess]):
    """Answers with a llama-server of ours."""

    def _deserves_thought(self, prompt: Prompt) -> bool:
        """A server holds thoughts to the form of the answer too: where there is one, none."""
        return super()._deserves_thought(prompt) and prompt.grammar is None

    def _start(self) -> ServerProcess:
        return ServerProcess(self.start)

    def _load(self, process: ServerProcess) -> None:
        process.load(self.start.path)

    def _fill(
        self,
        process: ServerProcess,
        prompt: Prompt,
        numbers: Sequence[int],
        found: dict[int, Completion],
    ) -> None:
        with self._noticing_death(process):
            process.server.fill(prompt, numbers, found)

    def _count(self, process: ServerProcess, asked: str | Prompt) -> int:
        is_prompt = isinstance(asked, Prompt)
        with self._noticing_death(process):
            body = {"content": _text(process, asked)}
            special = {"add_special": is_prompt, "parse_special": is_prompt}
            tokens = process.ask("/tokenize", {**body, **special}).get("tokens")
        return len(tokens) if isinstance(tokens, list) else 0

    @contextmanager
    def _noticing_death(self, process: ServerProcess) -> Iterator[None]:
        """Raise ProcessDied where the reason for no answer is that there is nobody left."""
        try:
            yield
        except ModelFailed as error:
            self._refuse_if_closed()
            if isinstance(error.fault, Unreachable) and process.ends_within(_PATIENCE):
                raise ProcessDied(process.death()) from error
            raise


def _text(process: ServerProcess, asked: str | Prompt) -> str:
    """Return a text as it is, and a prompt as the server renders it."""
    if isinstance(asked, str):
        return asked
    messages = [{"role": str(m.role), "content": m.text} for m in asked.messages]
    rendered = process.ask("/apply-template", {"messages": messages})
    return str(rendered.get("prompt", "")) + asked.prefill
