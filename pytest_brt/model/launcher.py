"""The process around a llama-server of our own: starts one, says where it is, ends with its parent.

The server is the one in the xllamacpp wheel, inside this process, or a program of that name. Both
listen on loopback only, on a port that the system chose, and want a key.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from pytest_brt.codec import from_json, to_json

#: The program, and the package that holds the same server.
PROGRAM, PACKAGE = "llama-server", "xllamacpp"
#: Sizes of the values in the memory of the context, as ggml numbers the types.
_TYPES = {"f16": 1, "q8_0": 8, "q4_0": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the server is to serve, and how."""

    path: str
    key: str
    #: The program, or "" for the package.
    program: str = ""
    #: Text of a chat template that replaces the file's own, or "".
    template: str = ""
    adapter: str = ""
    #: Tokens that all conversations may have together.
    cells: int
    slots: int
    threads: int
    #: -1 leaves it to the server, which asks the device what fits.
    gpu_layers: int = -1
    #: Layers whose experts stay in the computer's memory; 0 for none.
    cpu_experts: int = 0
    cache_type: str = "f16"
    flash: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What came of it."""

    #: As in "http://127.0.0.1:40513".
    address: str = ""
    problem: str = ""


def find_server() -> str:
    """Return the path of llama-server, the name of the package that has one, or ""."""
    program = shutil.which(PROGRAM)
    if program:
        return program
    return PACKAGE if find_spec(PACKAGE) is not None else ""


def arguments(launch: Launch, port: int, template: str) -> list[str]:
    """Return the command line of the program; `template` is the path of a file, or ""."""
    out = [launch.program, "--model", launch.path, "--host", "127.0.0.1", "--port", str(port)]
    out += ["--ctx-size", str(launch.cells), "--parallel", str(launch.slots), "--kv-unified"]
    out += ["--threads", str(launch.threads), "--jinja", "--no-warmup", "--offline"]
    out += ["--flash-attn", launch.flash]
    if template:
        out += ["--chat-template-file", template]
    if launch.adapter:
        out += ["--lora", launch.adapter]
    if launch.gpu_layers >= 0:
        out += ["--n-gpu-layers", str(launch.gpu_layers)]
    if launch.cpu_experts:
        out += ["--n-cpu-moe", str(launch.cpu_experts)]
    if launch.cache_type != "f16":
        out += ["--cache-type-k", launch.cache_type, "--cache-type-v", launch.cache_type]
    return out


def serve_in_process(launch: Launch) -> tuple[Any, str]:
    """Start the package's server in this process; return it and its address."""
    package: Any = importlib.import_module(PACKAGE)
    params = package.CommonParams()
    params.model.path = launch.path
    params.chat_template = launch.template
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [launch.key]
    params.n_ctx, params.n_parallel, params.kv_unified = launch.cells, launch.slots, True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = launch.threads
    params.warmup, params.use_jinja, params.offline = False, True, True
    kinds = package.llama_flash_attn_type
    params.flash_attn_type = {
        "auto": kinds.LLAMA_FLASH_ATTN_TYPE_AUTO,
        "on": kinds.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        "off": kinds.LLAMA_FLASH_ATTN_TYPE_DISABLED,
    }[launch.flash]
    params.cache_type_k = params.cache_type_v = package.ggml_type(_TYPES[launch.cache_type])
    if launch.gpu_layers >= 0:
        params.n_gpu_layers = launch.gpu_layers
    if launch.adapter:
        params.lora_adapters = [package.CommonAdapterLoraInfo(launch.adapter, 1.0)]
    server = package.Server(params)
    return server, str(server.listening_address)


def _serve_program(launch: Launch) -> tuple[Any, str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    template = ""
    if launch.template:
        with tempfile.NamedTemporaryFile(suffix=".jinja", delete=False) as file:
            file.write(launch.template.encode())
        template = file.name
    # In our process group, which ends with us; the key is not for the list of processes.
    process = subprocess.Popen(
        arguments(launch, port, template),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        env={**os.environ, "LLAMA_API_KEY": launch.key},
    )
    return process, f"http://127.0.0.1:{port}"


def main() -> None:
    """Start what the first line of stdin asks for; end when stdin does."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    launch = from_json(sys.stdin.readline(), Launch)
    try:
        _server, address = (_serve_program if launch.program else serve_in_process)(launch)
    except Exception as error:  # whatever it is, the parent says it in one line
        answers.write(to_json(Launched(problem=" ".join(str(error).split())[:400])) + "\n")
        answers.flush()
        return
    answers.write(to_json(Launched(address=address)) + "\n")
    answers.flush()
    sys.stdin.read()
    if launch.program:
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
