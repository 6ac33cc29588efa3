"""What ``--brt-model`` names: a GGUF file, a server on its usual port, an address, or nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from pytest_brt.errors import ModelProblem, UsageProblem
from pytest_brt.model.child import ENGINES, Child
from pytest_brt.model.client import Server

#: Servers by the name before the colon, with their usual ports. Sources: the READMEs of
#: llama.cpp's server and of vLLM, and the documentation of LM Studio and of Ollama.
PORTS = {"ollama": 11434, "lmstudio": 1234, "llama": 8080, "vllm": 8000}
#: Tokens of context of a private server, where nobody says it.
_CONTEXT = 16_384
#: A part of a model but the first, and what a model sees images with.
_NO_MODEL = re.compile(r"-(?!00001)\d{5}-of-\d{5}\.|mmproj", re.IGNORECASE)


class Spec(NamedTuple):
    """A model as a person names it."""

    #: What it is called in records.
    text: str
    #: What answers; nobody is asked, and nothing started, yet.
    server: Server


def read_spec(text: str) -> Spec:
    """Return what ``--brt-model`` names, as in "gguf:FILE,context=8192" or "ollama:qwen3:8b".

    Raises:
        UsageProblem: it names nothing that there is.
        ModelProblem: no such file, or it is not on this machine.
    """
    plain, *parts = text.split(",")
    settings = dict(part.partition("=")[::2] for part in parts)
    size, engine = settings.pop("context", "0"), settings.pop("engine", "")
    if settings or not size.isdecimal() or engine not in ("", *ENGINES):
        raise UsageProblem(
            f"--brt-model: {text!r}: settings are context=N and engine={' or '.join(ENGINES)}"
        )
    context = int(size)
    scheme, _, rest = plain.partition(":")
    if plain.endswith(".gguf") or (scheme == "gguf" and rest):
        path = find_file(plain.removeprefix("gguf:"))
        return Spec(f"gguf:{path.name}", Child(path, context or _CONTEXT, engine))
    if scheme in PORTS:
        known = os.environ.get("OLLAMA_HOST", "") if scheme == "ollama" else ""
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
    key = os.environ.get("PYTEST_BRT_SERVER_KEY", "")
    return Spec(plain, Server(url, key=key, name=name, context=context))


def find_file(name: str) -> Path:
    """Return the GGUF file at a path, or the one in a folder of models that is called so.

    Raises:
        ModelProblem: there is none.
    """
    path = Path(name).expanduser()
    known = [one for one in gguf_files() if name in (one.stem, one.name)]
    found = path if path.is_file() else next(iter(known), None)
    if found is None:
        raise ModelProblem(
            f"--brt-model: no such file: {name!r}, and no model of that name (run 'pytest-brt "
            "models')"
        )
    return found.resolve()


def home() -> Path:
    """Return the user's home, or a folder that is not there: not every user has one."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")


def gguf_files() -> list[Path]:
    """Return the models in our folder, PYTEST_BRT_MODELS."""
    data = Path(os.environ.get("XDG_DATA_HOME") or home() / ".local/share")
    folder = Path(os.environ.get("PYTEST_BRT_MODELS") or data / "pytest-brt/models")
    files = sorted(folder.rglob("*.gguf"))
    return [one for one in files if not _NO_MODEL.search(one.name)]


def default_spec() -> str:
    """Return the model where none is named: the only file in our folder, or "none"."""
    ours = gguf_files()
    return f"gguf:{ours[0]}" if len(ours) == 1 else "none"
