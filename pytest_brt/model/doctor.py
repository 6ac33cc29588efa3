"""Looks at what a local model needs on this machine, and says what to do where it is missing."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.model.base import Grammar, Message, Model, Prompt, Role, Sampling, Settings
from pytest_brt.model.catalogue import find_model, model_files, read_notes
from pytest_brt.model.host import LocalModel
from pytest_brt.model.llama_server import find_server
from pytest_brt.model.memory import available_bytes, cores
from pytest_brt.model.opening import INSTALL, open_file

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
    """Look at everything, one check at a time.

    Args:
        folder: the one with the models.
        name: the model to generate with; "" takes the default, else the smallest in `folder`.
    """
    server, package = find_server(), "llama-cpp-python"
    if server:
        yield Check("llama-server", server)
    if find_spec("llama_cpp") is not None:
        yield Check(package, importlib.metadata.version(package))
    else:
        state = CheckState.NOTE if server else CheckState.FAIL
        yield Check(package, f"not installed ({INSTALL})", state)
    files = [file for file in model_files(folder) if file.exists()]
    smallest = min(files, key=lambda file: file.stat().st_size, default="")
    chosen = name or read_notes(folder).default or str(smallest)
    if chosen:
        yield from _generation(chosen, folder)
    yield from _machine(folder)
    remark = "" if files else "run 'pytest-brt models add FILE', then this again: it tries one"
    yield _noted("models", f"{len(files)} in {str(folder)!r}", remark)


def _generation(chosen: str, folder: Path) -> Iterator[Check]:
    """Generate a few tokens with a model, freely and held to a form."""
    name = "generation"
    try:
        path = find_model(chosen, folder)
        model = open_file(str(path), Settings(context=1024))
        said = _say_something(model)
    except BrtError as problem:
        yield Check(name, str(problem), CheckState.FAIL)
        return
    slow = [note for note in model.notes if "slower" in note]
    remark = f"{'; '.join(slow)} ({_REBUILD})" if slow else ""
    yield _noted(name, f"works, in a child process: {said} of {path.name}", remark)
    if isinstance(model, LocalModel):
        remark = "" if model.gpu else "llama-cpp-python is built for the CPU (see docs/gpu.md)"
        yield _noted("GPU", "used" if model.gpu else "not used", remark)


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
    text = f"{free / _GIB:.1f} GiB can be had" if free else "the system does not say how much"
    few = free < 4 * _GIB
    yield _noted("memory", text, "enough for models of up to about 3B" if few else "")
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / _GIB:.1f} GiB free in {str(folder)!r}"
    yield _noted("disk", text, "too little for most models" if free < 6 * _GIB else "")


def _noted(name: str, text: str, remark: str) -> Check:
    return Check(name, f"{text}: {remark}", CheckState.NOTE) if remark else Check(name, text)
