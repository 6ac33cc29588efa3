"""What runs a GGUF file: a worker of ours, or a llama-server."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Model, Settings
from pytest_brt.model.chat import Template
from pytest_brt.model.gguf import read_header
from pytest_brt.model.header import GgufHeader
from pytest_brt.model.llama_server import PACKAGE, PrivateModel, find_server
from pytest_brt.model.memory import DoesNotFit, MemoryPlan, available_bytes, plan
from pytest_brt.model.wire import Start
from pytest_brt.model.worker_model import WorkerModel
from pytest_brt.types.model import EngineChosen, EngineReason

#: How to get what runs a GGUF file.
INSTALL = (
    "pip install 'pytest-brt[server]' for a ready-made llama-server, or 'pytest-brt[llama]', which "
    "compiles llama.cpp with cmake and a C++ compiler; from a folder of wheels: pip install "
    "--no-index --find-links WHEELS 'pytest-brt[llama]'"
)


def open_file(path: str, settings: Settings) -> Model:
    """Return the model in the file at `path`: in a worker, or served by a llama-server of ours.

    Nothing is loaded yet.

    Raises:
        ModelProblem: the file is no model, has no chat template, or does not fit the memory; or
            the engine that was asked for is not there.
    """
    header = read_header(path)
    text = header.chat_template
    # What cannot be rendered would be refused in the middle of a run.
    thinks = Template(text, where=path).thinks
    server = find_server()
    chosen, setup = _fit(header, settings, server)
    start = Start(
        path=path,
        template=text,
        plan=setup,
        gpu_layers=settings.gpu_layers,
        cpu_experts=settings.cpu_experts,
        cache_type=settings.cache_type,
    )
    notes = (chosen,) if settings.engine == "auto" else ()
    # A quarter of a small context is for thoughts at most.
    thinking = min(settings.thinking, setup.longest // 4) if thinks else 0
    if chosen.why is EngineReason.FITS:
        return WorkerModel(start, thinking, notes)
    program = "" if server == PACKAGE else server
    return PrivateModel(replace(start, template="", program=program), thinking, notes)


def _fit(header: GgufHeader, settings: Settings, server: str) -> tuple[EngineChosen, MemoryPlan]:
    """Return what is to run a model, and how it is set up there; `server` is there, unless "".

    Raises:
        ModelProblem: what was asked for is not there, or the model does not fit.
    """
    chosen = _choose(settings, server)
    if chosen.why is EngineReason.FITS:
        try:
            return chosen, plan(header, settings, available_bytes())
        except DoesNotFit as problem:
            if settings.engine != "auto" or not server:
                raise
            chosen = EngineChosen(why=EngineReason.TOO_LARGE, said=str(problem))
    return chosen, plan(header, settings, 0)


def _choose(settings: Settings, server: str) -> EngineChosen:
    """Return what is to run a model where it fits; `server` is there, unless "".

    Raises:
        ModelProblem: what was asked for is not there, or cannot do what was asked of it.
    """
    ours, theirs = settings.engine == "inprocess", settings.engine == "llama-server"
    wants = f"cpu-experts={settings.cpu_experts}" if settings.cpu_experts else ""
    if wants and (ours or not server):
        raise ModelProblem(
            f"--brt-engine auto,{wants}: only a llama-server can do that (leave --brt-engine at "
            f"auto; {INSTALL})"
        )
    if theirs and not server:
        raise ModelProblem(f"no llama-server: none on PATH, and no 'xllamacpp' ({INSTALL})")
    if wants or theirs:
        return EngineChosen(why=EngineReason.ASKED, said=wants)
    if find_spec("llama_cpp") is not None:
        return EngineChosen(why=EngineReason.FITS)
    if ours or not server:
        raise ModelProblem(f"nothing to run a GGUF file: llama-cpp-python is missing ({INSTALL})")
    return EngineChosen(why=EngineReason.MISSING)
