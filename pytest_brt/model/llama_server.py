"""The process around a llama-server of our own: starts one, says where it is, ends with its parent.

The server is the one in the xllamacpp wheel, inside this process, or a program of that name. Both
listen on a socket in the file system: no other user reaches it, and it needs no network at all.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_brt.codec import from_json, to_json
from pytest_brt.model.wire import Answer, Start

#: The program, and the package that holds the same server.
PROGRAM, PACKAGE = "llama-server", "xllamacpp"
#: Sizes of the values in the memory of the context, as ggml numbers the types.
_TYPES = {"q8_0": 8, "q4_0": 2}


def find_server() -> str:
    """Return the path of llama-server, the name of the package that has one, or ""."""
    program = shutil.which(PROGRAM)
    if program:
        return program
    return PACKAGE if find_spec(PACKAGE) is not None else ""


def arguments(start: Start) -> list[str]:
    """Return the command line of the program."""
    plan, settings = start.plan, start.settings
    out = [start.program, "--model", start.path, "--host", start.socket]
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


def _serve_program(start: Start) -> Any:
    # In our process group, which ends with us.
    return subprocess.Popen(arguments(start), stdin=subprocess.DEVNULL, stdout=sys.stderr)


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
    try:
        server = (_serve_program if start.program else serve_in_process)(start)
        answer = Answer(id=0, ready=True)
    except Exception as error:  # whatever it is, the parent says it in one line
        server, answer = None, Answer(id=0, problem=" ".join(str(error).split())[:400])
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
