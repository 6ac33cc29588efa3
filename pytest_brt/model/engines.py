"""Chooses what runs a GGUF file: llama-cpp-python in our worker, or a private llama-server."""

from __future__ import annotations

from importlib.util import find_spec

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Model, Settings
from pytest_brt.model.chat import Template
from pytest_brt.model.gguf import read_header
from pytest_brt.model.launcher import PACKAGE, Launch, find_server
from pytest_brt.model.local import open_gguf, template_text
from pytest_brt.model.memory import DoesNotFit, plan
from pytest_brt.model.private import open_private

_INSTALL = (
    "pip install 'pytest-brt[server]' for a ready-made llama-server, or 'pytest-brt[llama]', which "
    "compiles llama.cpp with cmake and a C++ compiler; from a bundle: pip install --no-index "
    "--find-links WHEELS 'pytest-brt[llama]'"
)


def open_file(
    path: str,
    settings: Settings,
    *,
    template: str = "",
    adapter: str = "",
    notes: tuple[str, ...] = (),
) -> Model:
    """Return the model in the file at `path`, looked at but not loaded yet.

    Raises:
        ModelProblem: the file is no model, has no chat template, or does not fit the memory; or
            the engine that was asked for is not there.
    """
    read_header(path)
    ours, server = find_spec("llama_cpp") is not None, find_server()
    if settings.engine == "llama-server" and not server:
        raise ModelProblem(f"no llama-server: none on PATH, and no {PACKAGE!r} ({_INSTALL})")
    if not ours and (not server or settings.engine == "inprocess"):
        raise ModelProblem(f"nothing to run a GGUF file: llama-cpp-python is missing ({_INSTALL})")
    why = "llama-cpp-python is not installed"
    if settings.cpu_experts and (settings.engine == "inprocess" or server in {"", PACKAGE}):
        raise ModelProblem(
            f"--brt-cpu-experts {settings.cpu_experts}: only llama-server on PATH can do that "
            "(install llama.cpp, and leave --brt-engine at auto)"
        )
    if settings.cpu_experts:
        ours, why = False, "it can keep experts in the computer's memory"
    if ours and settings.engine != "llama-server":
        try:
            model = open_gguf(path, settings, template=template, adapter=adapter)
        except DoesNotFit as problem:
            if settings.engine == "inprocess" or not server:
                raise
            why = f"as it loads weights piece by piece; in a worker: {problem}"
        else:
            auto = "engine: llama-cpp-python, in a worker (auto: installed, and the model fits)"
            model.remark(*notes, *([auto] if settings.engine == "auto" else []))
            return model
    if settings.engine == "auto":
        notes = (*notes, f"engine: a private llama-server (auto: {why})")
    return _served(path, settings, template, adapter, server, notes)


def _served(
    path: str, settings: Settings, template: str, adapter: str, found: str, notes: tuple[str, ...]
) -> Model:
    header = read_header(path)
    text = template_text(template) if template else ""
    # What it cannot render it would refuse in the middle of a run.
    Template(text or header.chat_template, where=template or path)
    setup = plan(header, settings, 0)
    launch = Launch(
        path=path,
        key="",
        template=text,
        adapter=adapter,
        cells=setup.cells,
        slots=setup.lanes,
        threads=setup.threads,
        gpu_layers=settings.gpu_layers,
        cpu_experts=settings.cpu_experts,
        cache_type=settings.cache_type,
        flash="auto" if settings.cache_type == "f16" else "on",
    )
    return open_private(launch, settings, found=found, notes=notes)
