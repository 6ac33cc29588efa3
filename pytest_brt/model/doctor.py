"""Looks at what a local model needs on this machine, and says what to do where it is missing."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.model.base import Grammar, Message, Model, Prompt, Role, Sampling, Settings
from pytest_brt.model.catalogue import find_model, model_files
from pytest_brt.model.engine import INSTALL, open_file
from pytest_brt.model.llama_server import find_server
from pytest_brt.model.memory import available_bytes, cores
from pytest_brt.model.trial_model import write_hybrid
from pytest_brt.model.worker_model import WorkerModel
from pytest_brt.render.models import note_words
from pytest_brt.types.model import PlainWeights

#: What makes a difference to speed on a CPU, as /proc/cpuinfo names it.
_FLAGS = ("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimd", "sve")
_GIB = 1 << 30
_REBUILD = (
    "for full speed: CMAKE_ARGS='-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON "
    "-DGGML_BMI2=ON' pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python "
    "llama-cpp-python"
)


class CheckState(StrEnum):
    """How a check ended."""

    OK = "ok"
    #: It works, and could be better.
    NOTE = "note"
    #: Local models do not work like this.
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    #: What was found, and what to do about it.
    text: str
    state: CheckState = CheckState.OK


def examine(folder: Path, name: str) -> Iterator[Check]:
    """Look at everything, one check at a time; `folder` is the one with the models.

    What is generated with is the model called `name`; "" takes a small one with random weights.
    """
    server, package = find_server(), "llama-cpp-python"
    if server:
        yield Check("llama-server", server)
    if find_spec("llama_cpp") is not None:
        yield Check(package, importlib.metadata.version(package))
    else:
        state = CheckState.NOTE if server else CheckState.FAIL
        yield Check(package, f"not installed ({INSTALL})", state)
    with tempfile.TemporaryDirectory(prefix="brt-doctor-") as place:
        yield from _generation(name, folder, Path(place))
    yield from _machine(folder)


def _generation(name: str, folder: Path, place: Path) -> Iterator[Check]:
    """Generate a few tokens, freely and held to a form: on the CPU, then on a GPU."""
    try:
        path = find_model(name, folder) if name else write_hybrid(place / "hybrid.gguf")
        model = open_file(str(path), Settings(context=1024, gpu_layers=0))
        said = _say_something(model)
    except BrtError as problem:
        yield Check("generation", str(problem), CheckState.FAIL)
        return
    slow = [note_words(note) for note in model.notes if isinstance(note, PlainWeights)]
    remark = f"{'; '.join(slow)} ({_REBUILD})" if slow else ""
    yield _noted("generation", f"works, in a child process: {said} of {path.name}", remark)
    if not isinstance(model, WorkerModel):
        return
    try:
        model = open_file(str(path), Settings(context=1024))
        _say_something(model)
    except BrtError as problem:
        text = f"{problem} (drivers? without the GPU: build llama-cpp-python for the CPU)"
        yield Check("GPU", text, CheckState.FAIL)
        return
    used = isinstance(model, WorkerModel) and model.gpu
    remark = "" if used else "this llama-cpp-python is built for the CPU (see docs/models.md)"
    yield _noted("GPU", "used" if used else "not used", remark)


def _say_something(model: Model) -> str:
    """Generate, also held to a grammar, end the process, and say how much it said."""
    messages = (Message(role=Role.USER, text="hello"),)
    grammar = Grammar(gbnf='root ::= "yes" | "no"\n')
    with closing(model):
        done = model.complete(Prompt(messages=messages, sampling=Sampling(max_tokens=8)))
        chosen = model.complete(Prompt(messages=messages, grammar=grammar))
    if chosen[0].text not in {"yes", "no"}:
        raise ModelProblem(f"a grammar is not kept to: {chosen[0].text[:40]!r}")
    return f"{done[0].tokens} tokens"


def _machine(folder: Path) -> Iterator[Check]:
    """Say what the machine has for a model: a processor, memory and a disk."""
    said = Path("/proc/cpuinfo")
    lines = said.read_text(encoding="utf-8").split("\n") if said.is_file() else []
    flags = next((s.split() for s in lines if s.startswith(("flags", "Features"))), [])
    known = "".join(f" {flag}" for flag in _FLAGS if flag in flags)
    slow = platform.machine() in ("x86_64", "AMD64") and flags and "avx2" not in flags
    text = f"{cores()} cores, {platform.machine()}{known}"
    yield _noted("processor", text, "without AVX2 a model is slow" if slow else "")
    free = available_bytes()
    text = f"{free / _GIB:.1f} GiB available" if free else "the system does not say how much"
    few = free < 4 * _GIB
    yield _noted("memory", text, "enough for models of up to about 3B" if few else "")
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / _GIB:.1f} GiB free in {str(folder)!r}"
    yield _noted("disk", text, "too little for most models" if free < 6 * _GIB else "")
    count = len(model_files(folder))
    none = "run 'pytest-brt models add FILE'"
    yield _noted("models", f"{count} in {str(folder)!r}", "" if count else none)


def _noted(name: str, text: str, remark: str) -> Check:
    return Check(name, f"{text}: {remark}", CheckState.NOTE) if remark else Check(name, text)
