"""A model in a GGUF file on this machine: in a worker of ours, or served by a llama-server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from pytest_brt.bounded import bounded_text
from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Completion, Model, Prompt, Settings
from pytest_brt.model.chat import Template
from pytest_brt.model.gguf import read_header
from pytest_brt.model.host import Host
from pytest_brt.model.launcher import PACKAGE, find_server
from pytest_brt.model.memory import DoesNotFit, available_bytes, plan
from pytest_brt.model.private import PrivateModel, PrivateServer
from pytest_brt.model.wire import Order, Start

INSTALL = (
    "pip install 'pytest-brt[server]' for a ready-made llama-server, or 'pytest-brt[llama]', which "
    "compiles llama.cpp with cmake and a C++ compiler; from a bundle: pip install --no-index "
    "--find-links WHEELS 'pytest-brt[llama]'"
)


class LocalModel:
    """Answers with llama.cpp in a worker process, which starts with the first prompt."""

    def __init__(self, host: Host, thinking: int, notes: tuple[str, ...]) -> None:
        """Use `host`; `thinking` tokens may go before the answer to a weighty question."""
        self.host = host
        self.thinking = thinking
        self._notes = (*host.start.plan.notes, *notes)
        self.context = host.start.plan.longest - thinking
        self.name = host.start.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the file, the memory, and how the worker had to be started."""
        return (*self._notes, *self.host.notes)

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the answers; a prompt that meets a crash is asked once more, and says so.

        Raises:
            ModelProblem: the model cannot be loaded, the prompt does not fit, its grammar
                cannot be used, or the worker died twice over it.
        """
        if prompt.weighty and not prompt.thinking:
            prompt = replace(prompt, thinking=self.thinking)
        order = Order(prompt=prompt)
        asked, notes = self.host.ask(order)
        answers = (asked.found[number] for number in sorted(asked.found))
        return tuple(replace(done, notes=(*done.notes, *notes)) for done in answers)

    def count(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Return how many tokens each of `texts` has, by the model's own tokenizer."""
        if not texts:
            return ()
        return self._counts(Order(texts=tuple(texts)))

    def measure(self, prompt: Prompt) -> int:
        """Return how many tokens `prompt` has with the template around it."""
        return self._counts(Order(prompt=prompt, count=True))[0]

    def _counts(self, order: Order) -> tuple[int, ...]:
        return self.host.ask(order)[0].future.result().counts

    def close(self) -> None:
        """End the worker, for every model that shares it."""
        self.host.close()


def open_gguf(
    path: str,
    settings: Settings,
    *,
    template: str = "",
    adapter: str = "",
    notes: tuple[str, ...] = (),
) -> LocalModel:
    """Return the model in the file at `path` in a worker, looked at but not loaded yet.

    Raises:
        ModelProblem: the file is no model, has no chat template, or does not fit the memory.
    """
    if find_spec("llama_cpp") is None:
        raise ModelProblem(f"llama-cpp-python is not installed ({INSTALL})")
    start = _start(path, settings, template, adapter, available_bytes())
    thinks = Template(start.template, where=template or path).thinks
    # A quarter of a small context is for thoughts at most.
    thinking = min(settings.thinking, start.plan.longest // 4) if thinks else 0
    return LocalModel(Host(start), thinking, notes)


def open_file(path: str, settings: Settings, *, template: str = "", adapter: str = "") -> Model:
    """Return the model in the file at `path`: in a worker, or served by a llama-server of ours.

    Nothing is loaded yet.

    Raises:
        ModelProblem: the file is no model, has no chat template, or does not fit the memory; or
            the engine that was asked for is not there.
    """
    read_header(path)
    server, auto = find_server(), settings.engine == "auto"
    why = _why_not_ours(settings, server)
    if not why:
        note = "engine: llama-cpp-python, in a worker (auto: installed, and the model fits)"
        notes = (note,) if auto else ()
        try:
            return open_gguf(path, settings, template=template, adapter=adapter, notes=notes)
        except DoesNotFit as problem:
            if not (auto and server):
                raise
            why = f"as it loads weights piece by piece; in a worker: {problem}"
    if not server:
        raise ModelProblem(f"no llama-server: none on PATH, and no {PACKAGE!r} ({INSTALL})")
    start = _start(path, settings, template, adapter, 0)
    # What it cannot render it would refuse in the middle of a run.
    Template(start.template, where=template or path)
    start = replace(
        start,
        template=start.template if template else "",
        program="" if server == PACKAGE else server,
    )
    notes = (f"engine: a private llama-server (auto: {why})",) if auto else ()
    return PrivateModel(PrivateServer(start), settings, notes)


def _why_not_ours(settings: Settings, server: str) -> str:
    """Return why a llama-server is to run a model and not a worker of ours, "" for a worker.

    Raises:
        ModelProblem: what was asked for cannot be had.
    """
    if settings.cpu_experts and (settings.engine == "inprocess" or not server):
        raise ModelProblem(
            f"--brt-cpu-experts {settings.cpu_experts}: only a llama-server can do that (leave "
            f"--brt-engine at auto; {INSTALL})"
        )
    if settings.cpu_experts or settings.engine == "llama-server":
        return "it can keep experts in the computer's memory"
    if find_spec("llama_cpp") is not None:
        return ""
    if settings.engine == "inprocess" or not server:
        raise ModelProblem(f"nothing to run a GGUF file: llama-cpp-python is missing ({INSTALL})")
    return "llama-cpp-python is not installed"


def _start(path: str, settings: Settings, template: str, adapter: str, available: int) -> Start:
    """Return how a process that runs the model starts, with `available` bytes of memory."""
    header = read_header(path)
    if adapter:
        read_header(adapter)
    return Start(
        path=path,
        template=template_text(template) if template else header.chat_template,
        plan=plan(header, settings, available),
        cache_type=settings.cache_type,
        gpu_layers=settings.gpu_layers,
        cpu_experts=settings.cpu_experts,
        adapter=adapter,
    )


def template_text(path: str) -> str:
    """Return the chat template in the file at `path`.

    Raises:
        ModelProblem: it cannot be read.
    """
    try:
        return bounded_text(Path(path), 1 << 20)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ModelProblem(
            f"cannot read the chat template {path!r}: {reason} (name a jinja2 file after "
            "'+template:')"
        ) from error
