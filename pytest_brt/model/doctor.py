"""Looks at what a local model needs on this machine, and says what to do where it is missing."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pytest_brt.errors import BrtError
from pytest_brt.model.base import Message, Model, Prompt, Role, Sampling, Settings
from pytest_brt.model.catalogue import model_files
from pytest_brt.model.llama import INSTALL
from pytest_brt.model.local import LocalModel, open_gguf
from pytest_brt.model.machine import available_bytes, cores
from pytest_brt.model.tiny import write_llama

#: What makes a difference to speed on a CPU, as /proc/cpuinfo names it.
_FLAGS = ("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimd", "sve")
_GIB = 1 << 30
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
    yield _package()
    yield from _generation()
    yield _processor()
    yield _tools()
    yield _memory()
    yield _disk(folder)
    yield _models(folder)


def sound(checks: Iterable[Check]) -> bool:
    """Return whether none of `checks` failed."""
    return all(check.state is not State.FAIL for check in checks)


def _package() -> Check:
    try:
        version = importlib.metadata.version("llama-cpp-python")
    except importlib.metadata.PackageNotFoundError:
        return Check(name="llama-cpp-python", state=State.FAIL, text=f"not installed ({INSTALL})")
    return Check(name="llama-cpp-python", state=State.OK, text=version)


def _generation() -> Iterator[Check]:
    """Generate a few tokens with a tiny model of random weights, in a process of their own."""
    with tempfile.TemporaryDirectory(prefix="brt-doctor-") as folder:
        path = write_llama(Path(folder) / "tiny.gguf", quantised=True)
        try:
            model = open_gguf(str(path), Settings(threads=1, context=1024, gpu_layers=0))
            speed = _say_something(model)
        except BrtError as problem:
            yield Check(name="generation", state=State.FAIL, text=str(problem))
            return
        state, text = State.OK, f"works, in a child process, {speed}"
        if model.host.notes:
            state, text = State.NOTE, f"works; {'; '.join(model.host.notes)} ({_REBUILD})"
        yield Check(name="generation", state=state, text=text)
        try:
            model = open_gguf(str(path), Settings(threads=1, context=1024))
            _say_something(model)
        except BrtError as problem:
            text = f"{problem} (drivers? without the GPU: build llama-cpp-python for the CPU)"
            yield Check(name="GPU", state=State.FAIL, text=text)
            return
        ready = model.host.ready
        if ready is not None and ready.gpu:
            yield Check(name="GPU", state=State.OK, text="works: a model was put on it")
        else:
            text = "not used: this llama-cpp-python is built for the CPU (see docs/gpu.md)"
            yield Check(name="GPU", state=State.NOTE, text=text)


def _say_something(model: LocalModel) -> str:
    """Generate, end the worker, and say how much it said."""
    asked: Model = model
    message = Message(role=Role.USER, text="hello")
    try:
        done = asked.complete(Prompt(messages=(message,), sampling=Sampling(max_tokens=8)))
    finally:
        asked.close()
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


def _tools() -> Check:
    """Find what building llama-cpp-python takes."""
    compiler = next((name for name in ("c++", "g++", "clang++", "cl") if shutil.which(name)), "")
    missing = [] if compiler else ["a C++ compiler"]
    if not shutil.which("cmake"):
        missing.append("cmake")  # pip fetches one, where there is a registry
    if missing:
        text = f"{' and '.join(missing)} not found: needed only to build llama-cpp-python"
        return Check(name="build tools", state=State.NOTE, text=text)
    return Check(name="build tools", state=State.OK, text=f"{compiler}, cmake")


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
