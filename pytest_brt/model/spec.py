"""What ``--brt-model`` names: a GGUF file, a server on its usual port, an address, or nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.errors import ModelProblem, UsageProblem
from pytest_brt.model.child import Child
from pytest_brt.model.client import Server

#: Servers by the name before the colon, with their usual ports. Sources: the READMEs of
#: llama.cpp's server and of vLLM, and the documentation of LM Studio and of Ollama.
PORTS = {"ollama": 11434, "lmstudio": 1234, "llama": 8080, "vllm": 8000}
#: Tokens of context of a private server, where nobody says it.
_CONTEXT = 16_384
_ENGINES = ("llama-server", "llama-cpp-python")
#: A file that is a part of a model, but the first.
_LATER_PART = re.compile(r"-(?!00001)\d{5}-of-\d{5}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A model as a person names it."""

    #: What it is called in records.
    text: str
    #: The file, or None for a server.
    path: Path | None = None
    url: str = ""
    #: What the server calls it, "" for its only one.
    name: str = ""
    #: Tokens of context; 0 leaves it to the server.
    context: int = 0
    #: What runs a file, "" for what there is.
    engine: str = ""

    def connect(self) -> Server:
        """Return the server that it names; nobody is asked, and nothing started, yet.

        Raises:
            ModelProblem: it is not on this machine.
        """
        if self.path is not None:
            return Child(self.path, self.context, self.engine)
        key = os.environ.get("PYTEST_BRT_SERVER_KEY", "")
        return Server(self.url, key=key, name=self.name, context=self.context)


def read_spec(text: str, env: Mapping[str, str] = os.environ) -> Spec:
    """Return what ``--brt-model`` names, as in "gguf:FILE,context=8192" or "ollama:qwen3:8b".

    Raises:
        UsageProblem: it names nothing that there is.
        ModelProblem: no such file.
    """
    plain, *parts = text.split(",")
    settings = dict(part.partition("=")[::2] for part in parts)
    size, engine = settings.pop("context", "0"), settings.pop("engine", "")
    if settings or not size.isdecimal() or engine not in ("", *_ENGINES):
        raise UsageProblem(
            f"--brt-model: {text!r}: settings are context=N and engine={' or '.join(_ENGINES)}"
        )
    context = int(size)
    scheme, _, rest = plain.partition(":")
    if plain.endswith(".gguf") or (scheme == "gguf" and rest):
        path = find_file(plain.removeprefix("gguf:"), env)
        context = context or _CONTEXT
        return Spec(text=f"gguf:{path.name}", path=path, context=context, engine=engine)
    if scheme in PORTS:
        known = env.get("OLLAMA_HOST", "") if scheme == "ollama" else ""
        port = re.search(r":(\d{1,5})/?$", known)
        url, name = f"127.0.0.1:{port[1] if port else PORTS[scheme]}/v1", rest
    elif scheme == "server" and rest:
        url, _, name = rest.partition("#")
    else:
        raise UsageProblem(
            f"--brt-model: not a model: {text!r} (gguf:FILE, "
            f"{', '.join(f'{name}:MODEL' for name in PORTS)}, server:URL#MODEL or none)"
        )
    url = url if "//" in url else f"http://{url}"
    return Spec(text=plain, url=url, name=name, context=context)


def find_file(name: str, env: Mapping[str, str] = os.environ) -> Path:
    """Return the GGUF file at a path, or the one in a folder of models that is called so.

    Raises:
        ModelProblem: there is none.
    """
    path = Path(name).expanduser()
    known = [path] if path.is_file() else gguf_files(env)
    for file in known:
        if name in (file.stem, file.name) or file == path:
            return file.resolve()
    raise ModelProblem(
        f"--brt-model: no such file: {name!r}, and no model of that name (run 'pytest-brt models')"
    )


def home() -> Path:
    """Return the user's home, or a folder that is not there: not every user has one."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")


def models_folder(env: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for models of ours: PYTEST_BRT_MODELS, or one in the user's data."""
    data = Path(env.get("XDG_DATA_HOME") or home() / ".local/share")
    return Path(env.get("PYTEST_BRT_MODELS") or data / "pytest-brt/models")


def gguf_files(env: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Yield the GGUF files in the folders where we and other programs keep them."""
    cache = Path(env.get("XDG_CACHE_HOME") or home() / ".cache")
    hub = Path(env.get("HF_HOME") or cache / "huggingface") / "hub"
    for folder in (models_folder(env), hub, cache / "llama.cpp", home() / ".lmstudio/models"):
        yield from _files_in(folder)


def _files_in(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*.gguf")):
        if "mmproj" not in file.name.lower() and not _LATER_PART.search(file.stem):
            yield file


def default_spec(env: Mapping[str, str] = os.environ) -> str:
    """Return the model where none is named: the only file in our folder, or "none"."""
    ours = list(_files_in(models_folder(env)))
    return f"gguf:{ours[0]}" if len(ours) == 1 else "none"
