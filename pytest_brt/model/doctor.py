"""Looks at what a local model needs on this machine, and says what to do where it is missing."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.model.base import Message, Model, Prompt, Role, Sampling, Settings
from pytest_brt.model.catalogue import model_files
from pytest_brt.model.grammar import choice_grammar
from pytest_brt.model.launcher import find_server
from pytest_brt.model.llama import INSTALL
from pytest_brt.model.local import open_file, open_gguf
from pytest_brt.model.machine import available_bytes, cores
from pytest_brt.model.tiny import words, write_llama, write_mamba

#: What makes a difference to speed on a CPU, as /proc/cpuinfo names it.
_FLAGS = ("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimd", "sve")
_GIB = 1 << 30
#: Tokens of a vocabulary as today's models have it.
_VOCABULARY = 100_000
_REBUILD = (
    "for full speed: CMAKE_ARGS='-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON "
    "-DGGML_BMI2=ON' pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python "
    "llama-cpp-python"
)


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    #: It works, and could be better.
    NOTE = "note"
    #: Local models do not work like this.
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    #: What was found, and what to do about it.
    text: str


def examine(folder: Path) -> Iterator[Check]:
    """Look at everything, one check at a time; `folder` is the one with the models."""
    yield from _package()
    yield from _generation()
    yield _processor()
    yield _memory()
    yield _disk(folder)
    yield _models(folder)


def sound(checks: Iterable[Check]) -> bool:
    """Return whether none of `checks` failed."""
    return all(check.state is not State.FAIL for check in checks)


def _package() -> Iterator[Check]:
    """Say what there is to run a GGUF file with."""
    ours = find_spec("llama_cpp") is not None
    if ours:
        version = importlib.metadata.version("llama-cpp-python")
        yield Check(name="llama-cpp-python", state=State.OK, text=version)
    server = find_server()
    if server:
        yield Check(name="llama-server", state=State.OK, text=server)
    if not ours:
        state = State.NOTE if server else State.FAIL
        yield Check(name="llama-cpp-python", state=state, text=f"not installed ({INSTALL})")


def _generation() -> Iterator[Check]:
    """Generate a few tokens with tiny models of random weights, in processes of their own."""
    models: tuple[tuple[str, Callable[[Path], Path]], ...] = (
        ("generation", functools.partial(write_llama, quantised=True)),
        ("hybrid", write_mamba),
        (
            "vocabulary",
            lambda path: write_llama(path, words=words(_VOCABULARY), quantised=True),
        ),
    )
    with tempfile.TemporaryDirectory(prefix="brt-doctor-") as folder:
        for name, write in models:
            check = _try(name, write(Path(folder) / f"{name}.gguf"))
            yield check
            if check.state is State.FAIL:
                return
        if find_spec("llama_cpp") is not None:
            yield _gpu(Path(folder) / "generation.gguf")


def _try(name: str, path: Path) -> Check:
    """Generate with the model at `path`, freely and held to a form."""
    try:
        model = open_file(str(path), Settings(threads=1, context=1024, gpu_layers=0))
        said = _say_something(model)
    except BrtError as problem:
        return Check(name=name, state=State.FAIL, text=str(problem))
    slow = [note for note in model.notes if "slower" in note]
    if slow:
        text = f"works; {'; '.join(slow)} ({_REBUILD})"
        return Check(name=name, state=State.NOTE, text=text)
    return Check(name=name, state=State.OK, text=f"works, in a child process, {said}")


def _gpu(path: Path) -> Check:
    """Put a tiny model on the GPU, where the build has one."""
    try:
        model = open_gguf(str(path), Settings(threads=1, context=1024))
        _say_something(model)
    except BrtError as problem:
        text = f"{problem} (drivers? without the GPU: build llama-cpp-python for the CPU)"
        return Check(name="GPU", state=State.FAIL, text=text)
    ready = model.host.ready
    if ready is not None and ready.gpu:
        return Check(name="GPU", state=State.OK, text="works: a model was put on it")
    text = "not used: this llama-cpp-python is built for the CPU (see docs/gpu.md)"
    return Check(name="GPU", state=State.NOTE, text=text)


def _say_something(model: Model) -> str:
    """Generate, also held to a grammar, end the process, and say how much it said."""
    messages = (Message(role=Role.USER, text="hello"),)
    grammar = choice_grammar(["yes", "no"])
    try:
        done = model.complete(Prompt(messages=messages, sampling=Sampling(max_tokens=8)))
        chosen = model.complete(Prompt(messages=messages, grammar=grammar))
    finally:
        model.close()
    if chosen[0].text not in {"yes", "no"}:
        raise ModelProblem(f"a grammar is not kept to: {chosen[0].text[:40]!r}")
    return f"{done[0].tokens} tokens"


def _processor() -> Check:
    found: set[str] = set()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n"):
            if line.startswith(("flags", "Features")):
                found = set(line.partition(":")[2].split())
                break
    except OSError:
        pass
    known = [flag for flag in _FLAGS if flag in found]
    text = f"{cores()} cores, {platform.machine()}" + (f", {' '.join(known)}" if known else "")
    slow = platform.machine() in ("x86_64", "AMD64") and found and "avx2" not in found
    return Check(
        name="processor",
        state=State.NOTE if slow else State.OK,
        text=text + (": without AVX2 a model is slow" if slow else ""),
    )


def _memory() -> Check:
    free = available_bytes()
    if not free:
        return Check(name="memory", state=State.NOTE, text="the system does not say how much")
    text = f"{free / _GIB:.1f} GiB can be had"
    few = free < 4 * _GIB
    return Check(
        name="memory",
        state=State.NOTE if few else State.OK,
        text=text + (": enough for models of up to about 3B" if few else ""),
    )


def _disk(folder: Path) -> Check:
    place = folder
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    text = f"{free / _GIB:.1f} GiB free in {str(folder)!r}"
    few = free < 6 * _GIB
    return Check(
        name="disk",
        state=State.NOTE if few else State.OK,
        text=text + (": too little for most models" if few else ""),
    )


def _models(folder: Path) -> Check:
    count = len(model_files(folder))
    if not count:
        text = f"none in {str(folder)!r} (run 'pytest-brt models add FILE')"
        return Check(name="models", state=State.NOTE, text=text)
    return Check(name="models", state=State.OK, text=f"{count} in {str(folder)!r}")
