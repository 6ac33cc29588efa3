"""Makes models out of what the user writes: `gguf:…`, `server:…`, `scripted:…`, `none`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from pytest_brt.bounded import bounded_text
from pytest_brt.errors import ModelProblem, UsageProblem
from pytest_brt.model.base import Completion, Model, Prompt, Settings
from pytest_brt.model.catalogue import find_model, model_files, models_folder
from pytest_brt.model.gguf import read_header
from pytest_brt.model.memory import DoesNotFit, available_bytes, plan
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.model.wire import Start

#: How to get what runs a GGUF file.
INSTALL = (
    "pip install 'pytest-brt[server]' for a ready-made llama-server, or 'pytest-brt[llama]', which "
    "compiles llama.cpp with cmake and a C++ compiler; from a folder of wheels: pip install "
    "--no-index --find-links WHEELS 'pytest-brt[llama]'"
)
#: Makes a model out of what follows "scheme:".
Factory = Callable[[str, Settings], Model]
_EXTRA = re.compile(r"\+(lora|template):")


class NoModel:
    """Stands for the absence of a model."""

    name = "none"
    context = 0
    notes: tuple[str, ...] = ()

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Raise ModelProblem."""
        raise ModelProblem(
            "this needs a model and none was chosen (--brt-model gguf:FILE, or 'pytest-brt "
            "models' for what there is)"
        )

    def count(self, asked: str | Prompt) -> int:
        """Raise ModelProblem."""
        raise ModelProblem("nothing to count with: no model was chosen (--brt-model gguf:FILE)")

    def close(self) -> None:
        """Do nothing."""


def parse_gguf(rest: str) -> tuple[str, str, str]:
    """Take "PATH-or-name[+lora:PATH][+template:FILE]" apart.

    >>> parse_gguf("a.gguf+lora:b.gguf+template:c.jinja")
    ('a.gguf', 'b.gguf', 'c.jinja')

    Raises:
        UsageProblem: the file is missing, or something is given twice.
    """
    path, *extras = _EXTRA.split(rest)
    given: dict[str, str] = {}
    for kind, value in zip(extras[::2], extras[1::2], strict=True):
        if kind in given or not value:
            raise UsageProblem(f"'+{kind}:' needs one file: {rest!r}")
        given[kind] = value
    if not path:
        raise UsageProblem(f"'gguf:' needs a file or a name: {rest!r} (run 'pytest-brt models')")
    return path, given.get("lora", ""), given.get("template", "")


def open_file(path: str, settings: Settings, *, template: str = "", adapter: str = "") -> Model:
    """Return the model in the file at `path`: in a worker, or served by a llama-server of ours.

    Nothing is loaded yet.

    Raises:
        ModelProblem: the file is no model, has no chat template, or does not fit the memory; or
            the engine that was asked for is not there.
    """
    # Most runs have no model, and need not wait for what runs one: so here and below.
    from pytest_brt.model.chat import Template
    from pytest_brt.model.host import LocalModel
    from pytest_brt.model.llama_server import PACKAGE, PrivateModel, find_server

    header = read_header(path)
    if adapter:
        read_header(adapter)
    text = template_text(template) if template else header.chat_template
    # What cannot be rendered would be refused in the middle of a run.
    thinks = Template(text, where=template or path).thinks
    server, auto = find_server(), settings.engine == "auto"
    why = _why_not_ours(settings, server)
    setup = plan(header, settings, 0)
    start = Start(path=path, template=text, plan=setup, settings=settings, adapter=adapter)
    if not why:
        try:
            setup = plan(header, settings, available_bytes())
        except DoesNotFit as problem:
            if not (auto and server):
                raise
            why = f"as it loads weights piece by piece; in a worker: {problem}"
        else:
            note = "engine: llama-cpp-python, in a worker (auto: installed, and the model fits)"
            # A quarter of a small context is for thoughts at most.
            thinking = min(settings.thinking, setup.longest // 4) if thinks else 0
            return LocalModel(replace(start, plan=setup), thinking, (note,) if auto else ())
    program = "" if server == PACKAGE else server
    start = replace(start, template=text if template else "", program=program)
    notes = (f"engine: a private llama-server (auto: {why})",) if auto else ()
    return PrivateModel(start, notes)


def _why_not_ours(settings: Settings, server: str) -> str:
    """Return why a llama-server is to run a model and not a worker of ours, "" for a worker."""
    if settings.cpu_experts and (settings.engine == "inprocess" or not server):
        raise ModelProblem(
            f"--brt-cpu-experts {settings.cpu_experts}: only a llama-server can do that (leave "
            f"--brt-engine at auto; {INSTALL})"
        )
    if settings.engine == "llama-server" and not server:
        raise ModelProblem(f"no llama-server: none on PATH, and no 'xllamacpp' ({INSTALL})")
    if settings.cpu_experts or settings.engine == "llama-server":
        return "it can keep experts in the computer's memory"
    if find_spec("llama_cpp") is not None:
        return ""
    if settings.engine == "inprocess" or not server:
        raise ModelProblem(f"nothing to run a GGUF file: llama-cpp-python is missing ({INSTALL})")
    return "llama-cpp-python is not installed"


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


def _open_gguf(rest: str, settings: Settings) -> Model:
    name, adapter, template = parse_gguf(rest)
    path = find_model(name, models_folder(settings.models_dir))
    return open_file(str(path), settings, template=template, adapter=adapter)


def _open_server(rest: str, settings: Settings) -> Model:
    from pytest_brt.model.server import ServerModel

    return ServerModel(rest, settings)


def builtin_factories() -> dict[str, Factory]:
    """Return the schemes that need no plugin."""
    return {"gguf": _open_gguf, "server": _open_server, "scripted": ScriptedModel}


def default_model(models_dir: str = "") -> tuple[str, str]:
    """Return the spec when none is given, the default or the only GGUF there is, and a remark.

    The spec is "none" where there are several, or nothing can load them: a run that needs no
    model is not to fail for that. The remark says so then, and is "" else.
    """
    folder = models_folder(models_dir)
    files = model_files(folder)
    if not files:
        return "none", ""
    from pytest_brt.model.llama_server import find_server

    if find_spec("llama_cpp") is None and not find_server():
        return "none", f"no model: {str(folder)!r} has one, and nothing to run it is installed"
    if len(files) > 1:
        names = ", ".join(file.stem for file in files)
        how = "--brt-model gguf:NAME takes one, PYTEST_BRT_MODEL=gguf:NAME takes it for good"
        return "none", f"no model: {names} are there ({how})"
    return f"gguf:{files[0]}", ""


def open_model(
    spec: str, settings: Settings, factories: Mapping[str, Factory] | None = None
) -> Model:
    """Return the model that `spec` names; nothing is loaded or connected yet.

    Raises:
        UsageProblem: the spec names no scheme that `factories` (default: the built-in) has.
        ModelProblem: its file or server cannot be used.
    """
    if spec == "none":
        return NoModel()
    known = builtin_factories() if factories is None else factories
    scheme, colon, rest = spec.partition(":")
    if colon and scheme in known:
        return known[scheme](rest, settings)
    if spec.endswith(".gguf") and "gguf" in known:
        return known["gguf"](spec, settings)
    raise UsageProblem(
        f"--brt-model: not a model: {spec!r} (known are {', '.join(f'{s}:…' for s in known)}, none)"
    )


def open_models(
    spec: str, edit_spec: str, settings: Settings, factories: Mapping[str, Factory] | None = None
) -> tuple[Model, Model]:
    """Return the reasoning model and the one that edits code, the same one without `edit_spec`."""
    if edit_spec in ("", spec):
        model = open_model(spec, settings, factories)
        return model, model
    return open_model(spec, settings, factories), open_model(edit_spec, settings, factories)
