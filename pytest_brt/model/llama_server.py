"""A llama-server of our own: the model that asks it, and the process around it.

The server is the one in the xllamacpp wheel, inside that process, or a program of that name. Both
listen on a socket in the file system: no other user reaches it, and it needs no network at all. The
process ends with its parent.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.base import Prompt
from pytest_brt.model.host import Child, no_room
from pytest_brt.model.loopback import Loopback, TooLate, Unreachable
from pytest_brt.model.server import ServerModel
from pytest_brt.model.wire import Answer, Start

#: The program, and the package that holds the same server.
PROGRAM, PACKAGE = "llama-server", "xllamacpp"
#: The one program of llama.cpp's newer installations, which serves by a command.
LLAMA = "llama"
#: Seconds for a program to print its help.
_HELP = 10.0
#: Sizes of the values in the memory of the context, as ggml numbers the types.
_TYPES = {"q8_0": 8, "q4_0": 2}
#: Seconds for a server to load its model.
_LOADING = 900.0
#: Times a server that has died is started again.
_LIVES = 3


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


class PrivateModel(ServerModel):
    """Asks a server of our own, started when it is first needed, and again when it has died."""

    def __init__(self, start: Start, notes: tuple[str, ...]) -> None:
        super().__init__("http://127.0.0.1:1", start.settings)  # its own comes when it runs
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
                        "engine: --brt-engine inprocess; a smaller context: --brt-engine "
                        "auto,context=N)"
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
                    self._is_heard = True
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


def arguments(start: Start) -> list[str]:
    """Return the command line of the program."""
    plan, settings = start.plan, start.settings
    serve = ["serve"] if Path(start.program).stem == LLAMA else []
    out = [start.program, *serve, "--model", start.path, "--host", start.socket]
    out += ["--ctx-size", str(plan.cells), "--parallel", str(plan.lanes), "--kv-unified"]
    out += ["--threads", str(plan.threads), "--jinja", "--no-warmup", "--offline"]
    if start.template:
        out += ["--chat-template", start.template]
    if start.adapter:
        out += ["--lora", start.adapter]
    if settings.gpu_layers >= 0:
        out += ["--n-gpu-layers", str(settings.gpu_layers)]
    if settings.cpu_experts:
        out += ["--n-cpu-moe", str(settings.cpu_experts)]
    if settings.cache_type != "f16":  # which only flash attention can read
        out += ["--cache-type-k", settings.cache_type, "--cache-type-v", settings.cache_type]
        out += ["--flash-attn", "on"]
    return out


def serve_in_process(start: Start) -> Any:
    """Start the package's server in this process, and return it."""
    plan, settings = start.plan, start.settings
    package: Any = importlib.import_module(PACKAGE)
    params = package.CommonParams()
    params.model.path = start.path
    params.chat_template = start.template
    params.hostnames = [start.socket]
    params.n_ctx, params.n_parallel = plan.cells, plan.lanes
    params.kv_unified = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = plan.threads
    params.warmup, params.use_jinja, params.offline = False, True, True
    if settings.cache_type != "f16":  # which only flash attention can read
        params.cache_type_k = params.cache_type_v = package.ggml_type(_TYPES[settings.cache_type])
        params.flash_attn_type = package.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    if settings.gpu_layers >= 0:
        params.n_gpu_layers = settings.gpu_layers
    if settings.cpu_experts:  # as --n-cpu-moe has it
        layers = "|".join(str(layer) for layer in range(settings.cpu_experts))
        params.tensor_buft_overrides = rf"blk\.({layers})\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU"
    if start.adapter:
        params.lora_adapters = [package.CommonAdapterLoraInfo(start.adapter, 1.0)]
    return package.Server(params)


def _end_with(server: subprocess.Popen[bytes]) -> None:
    """End as the program did, for whoever watches this process to tell how."""
    status = server.wait()
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status or 1)


def main() -> None:
    """Start what the first line of stdin asks for; end when stdin does."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    start = from_json(sys.stdin.readline(), Start)
    server: Any = None
    try:
        if start.program:  # in our process group, which ends with us
            null = subprocess.DEVNULL
            server = subprocess.Popen(arguments(start), stdin=null, stdout=sys.stderr)
        else:
            server = serve_in_process(start)
        answer = Answer(id=0, ready=True)
    except Exception as error:  # whatever it is, the parent says it in one line
        answer = Answer(id=0, problem=" ".join(str(error).split())[:400])
    answers.write(to_json(answer) + "\n")
    answers.flush()
    if server is None:
        return
    if isinstance(server, subprocess.Popen):
        threading.Thread(target=_end_with, args=(server,), daemon=True).start()
    sys.stdin.read()
    shutil.rmtree(Path(start.socket).parent, ignore_errors=True)  # if the parent could not
    if start.program:
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
