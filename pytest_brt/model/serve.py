"""The process around a llama-server of ours: the package's in it, or the program below it.

It listens on a socket in the file system: no other user reaches it, and it needs no network at all.
It ends with its parent.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from pytest_brt.codec import from_json, to_json
from pytest_brt.model.llama_server import PACKAGE, arguments
from pytest_brt.model.wire import Answer, Start

#: Sizes of the values in the memory of the context, as ggml numbers the types.
_TYPES = {"q8_0": 8, "q4_0": 2}


def serve_in_process(start: Start) -> Any:
    """Start the package's server in this process, and return it."""
    plan = start.plan
    package: Any = importlib.import_module(PACKAGE)
    params = package.CommonParams()
    params.model.path = start.path
    params.chat_template = start.template
    params.hostnames = [start.socket]
    params.n_ctx, params.n_parallel = plan.cells, plan.lanes
    params.kv_unified = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = plan.threads
    params.warmup, params.use_jinja, params.offline = False, True, True
    if start.cache_type != "f16":  # which only flash attention can read
        params.cache_type_k = params.cache_type_v = package.ggml_type(_TYPES[start.cache_type])
        params.flash_attn_type = package.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    if start.gpu_layers >= 0:
        params.n_gpu_layers = start.gpu_layers
    if start.cpu_experts:  # as --n-cpu-moe has it
        layers = "|".join(str(layer) for layer in range(start.cpu_experts))
        params.tensor_buft_overrides = rf"blk\.({layers})\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU"
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
