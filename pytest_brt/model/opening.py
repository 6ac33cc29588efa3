"""Makes models out of what the user writes: `gguf:…`, `server:…`, `scripted:…`, `none`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from pytest_brt.errors import ModelProblem, UsageProblem
from pytest_brt.model.base import Completion, Model, Prompt, Settings
from pytest_brt.model.catalogue import find_model, model_files, models_folder
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.types.model import ModelNote

#: Makes a model out of what follows "scheme:".
Factory = Callable[[str, Settings], Model]


class NoModel:
    """Stands for the absence of a model."""

    name = "none"
    context = 0
    notes: tuple[ModelNote, ...] = ()

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


def _open_gguf(name: str, settings: Settings) -> Model:
    if not name:
        raise UsageProblem("'gguf:' needs a file or a name (run 'pytest-brt models')")
    from pytest_brt.model.engine import open_file

    return open_file(str(find_model(name, models_folder(settings.models_dir))), settings)


def _open_server(rest: str, settings: Settings) -> Model:
    from pytest_brt.model.server import ServerModel

    return ServerModel(rest if "//" in rest else f"http://{rest}", settings)


def _open_usual(scheme: str, name: str, settings: Settings) -> Model:
    from pytest_brt.model.usual import open_usual, usual_servers

    (usual,) = (server for server in usual_servers() if server.scheme == scheme)
    return open_usual(usual, name, settings)


#: Programs that are known by the port on which they serve.
_USUAL = ("ollama", "lmstudio", "llama")


def builtin_factories() -> dict[str, Factory]:
    """Return the schemes that need no plugin."""
    usual: dict[str, Factory] = {scheme: partial(_open_usual, scheme) for scheme in _USUAL}
    return {"gguf": _open_gguf, "server": _open_server, **usual, "scripted": ScriptedModel}


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


def open_model(spec: str, settings: Settings) -> Model:
    """Return the model that `spec` names; nothing is loaded or connected yet.

    Raises:
        UsageProblem: the spec names no scheme that there is.
        ModelProblem: its file or server cannot be used.
    """
    if spec == "none":
        return NoModel()
    known = builtin_factories()
    scheme, colon, rest = spec.partition(":")
    if colon and scheme in known:
        return known[scheme](rest, settings)
    if spec.endswith(".gguf") and "gguf" in known:
        return known["gguf"](spec, settings)
    raise UsageProblem(
        f"--brt-model: not a model: {spec!r} (known are {', '.join(f'{s}:…' for s in known)}, none)"
    )


def open_models(spec: str, edit_spec: str, settings: Settings) -> tuple[Model, Model]:
    """Return the reasoning model and the one that edits code, the same one without `edit_spec`."""
    if edit_spec in ("", spec):
        model = open_model(spec, settings)
        return model, model
    return open_model(spec, settings), open_model(edit_spec, settings)
