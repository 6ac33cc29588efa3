"""A private server for a GGUF file, in a process that ends with ours.

It is a llama-server (on PATH, or that of the package ``xllamacpp``), or llama-cpp-python, which
answers one request after the other. It listens on a port of loopback and wants a random key.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from pytest_brt.errors import ModelProblem
from pytest_brt.model.client import Server

#: Replies at a time of a llama-server, and its cells of context for each token of one prompt.
_SLOTS, _CELLS = 8, 1.5
#: Seconds for a file to be loaded.
_LOADING = 900.0
#: Fields of a request that llama-cpp-python takes as they are.
_TAKEN = (
    "messages",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "stop",
)
#: What runs a file, by the package that has it.
ENGINES = {"llama-server": "xllamacpp", "llama-cpp-python": "llama_cpp"}
#: The key, which no list of processes is to show.
_KEY = "LLAMA_API_KEY"


def engines() -> list[str]:
    """Return what can run a GGUF file here, the better one first."""
    return [
        name
        for name, package in ENGINES.items()
        if find_spec(package) or (name == "llama-server" and shutil.which(name))
    ]


class Child(Server):
    """A private server: it starts when it is first asked, and again where it has died."""

    def __init__(self, path: Path, context: int, engine: str = "") -> None:
        """Serve a file with so much context; nothing is started yet."""
        self.engine = engine or next(iter(engines()), "")
        super().__init__("http://127.0.0.1", context=context)
        self.slots = _SLOTS if self.engine == "llama-server" else 1
        self.path = path
        #: What was started last; None before anybody asked, and after its end.
        self.process: subprocess.Popen[bytes] | None = None
        # By then one that dies is gone, and another one is started.
        self.pauses = (0.3, 1.0)
        self._lock = threading.Lock()

    @property
    def is_running(self) -> bool:
        """Whether there is a process."""
        return self.process is not None and self.process.poll() is None

    def open(self) -> None:
        """Start a process where none runs, and wait until it has loaded the file.

        Raises:
            ModelProblem: nothing here can run it, or it cannot be loaded.
        """
        with self._lock, tempfile.TemporaryFile() as log:
            if self.is_running:
                return
            self._end()  # what is left of one that died
            if self.engine not in engines():
                raise ModelProblem(
                    f"--brt-model: nothing to run {self.path.name!r} with (pip install "
                    "'pytest-brt[server]' or 'pytest-brt[llama]')"
                )
            self._start(log)
            end = time.monotonic() + _LOADING
            while self.is_running and not self.is_closed and time.monotonic() < end:
                with suppress(ModelProblem):
                    super().open()
                    return
                time.sleep(0.1)
            self._end()
            log.seek(0)
            lines = log.read().decode("utf-8", "replace")
            errors = re.findall(r".*(?:error|fail).*", lines, re.IGNORECASE) or [
                "no answer"
            ]
            raise ModelProblem(
                f"{self.path.name!r} cannot be loaded: {errors[-1].strip()[:200]} (is it a whole "
                "GGUF file?)"
            )

    def _start(self, log: IO[bytes]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.key, self.is_known = secrets.token_hex(16), False
        settings = map(str, (self.engine, self.path.absolute(), self.port, self.context))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, *settings],
            stdin=subprocess.PIPE,  # it ends when this is closed
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",  # a library of the project's folder could be taken for one of the engine's
            env={**os.environ, _KEY: self.key},
        )

    def close(self) -> None:
        """End the process, and whatever it started."""
        super().close()
        self._end()

    def _end(self) -> None:
        if self.process is not None:
            # What it started may be left where it has died.
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()
            self.process = None


# -- in the child --


def _threads() -> int:
    """Return how many cores to use: all but one.

    Threads wait for each other at every step, so that one busy core makes all of them slow.
    """
    return max(2, os.cpu_count() or 1) - 1


def _run_program(program: str, path: str, port: int, context: int) -> None:
    options = (
        f"--host 127.0.0.1 --port {port} --ctx-size {context} --parallel {_SLOTS} --threads "
        f"{_threads()} --kv-unified --jinja --no-webui --no-warmup --offline"
    )
    command = [program, "--model", path, *options.split()]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=False)


def _run_package(path: str, port: int, context: int) -> None:
    package: Any = import_module(ENGINES["llama-server"])
    params = package.CommonParams()
    params.model.path = path
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], port, [os.environ[_KEY]]
    params.n_ctx, params.n_parallel = context, _SLOTS
    params.cpuparams.n_threads = _threads()
    params.kv_unified = params.use_jinja = params.offline = True
    params.warmup = params.ui = False
    server = package.Server(params)
    threading.Event().wait()
    del server  # it served until now


def _run_llama_cpp(path: str, port: int, context: int) -> None:
    """Answer by the high-level API of llama-cpp-python, one request after the other."""
    package: Any = import_module(ENGINES["llama-cpp-python"])
    llama = package.Llama(
        path, n_ctx=context, n_gpu_layers=-1, n_threads=_threads(), verbose=False
    )
    sizes = {name.rpartition(".")[2]: value for name, value in llama.metadata.items()}
    meta = {"n_ctx_train": int(sizes.get("context_length", 0))}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, {"data": [{"id": Path(path).stem, "meta": meta}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.headers["Authorization"] != f"Bearer {os.environ[_KEY]}":
                return self._send(401, {"error": "wrong key"})
            fields = {name: body[name] for name in _TAKEN if name in body}
            if "response_format" in body:
                schema = body["response_format"]["json_schema"]["schema"]
                fields["response_format"] = {"type": "json_object", "schema": schema}
            try:
                return self._send(200, llama.create_chat_completion(**fields))
            except ValueError as error:  # llama.cpp's words on a prompt that is too long
                return self._send(400, {"error": str(error)})

        def _send(self, status: int, body: object) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing of requests."""

    HTTPServer(("127.0.0.1", port), Handler).serve_forever()


def _end_with_parent() -> None:
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


def main(engine: str, path: str, at: str, size: str) -> None:
    """Serve a model at a port, with so much context, until stdin ends."""
    port, context = int(at), int(size)
    cells = int(context * _CELLS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    program = shutil.which("llama-server")
    if engine == "llama-cpp-python":
        _run_llama_cpp(path, port, context)
    elif program:
        _run_program(program, path, port, cells)
    else:
        _run_package(path, port, cells)


if __name__ == "__main__":
    main(*sys.argv[1:])
