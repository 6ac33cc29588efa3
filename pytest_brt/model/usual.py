"""The servers that people run, by the ports that they usually have."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Model, Settings
from pytest_brt.model.catalogue import find_model, models_folder
from pytest_brt.model.dialect import is_told, listed_models, listed_owner
from pytest_brt.model.engine import open_file
from pytest_brt.model.loopback import Loopback, Response
from pytest_brt.model.served import ServerKind
from pytest_brt.model.server import ServerModel

#: Seconds for a port to be answered on, and for a server to list its models.
_KNOCK, _LIST = 0.3, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualServer:
    """A program that serves models, and where it does."""

    #: What it is called in `--brt-model`.
    scheme: str
    program: str
    kind: ServerKind
    #: In the order in which they are tried.
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A server that was found, and how its models are named in `--brt-model`."""

    program: str
    port: int
    models: tuple[str, ...]


#: Sources: the README of llama.cpp's server for 8080, llama.app for 9931, and the docs of LM Studio
#: and of Ollama.
USUAL = (
    UsualServer(scheme="llama", program="llama.cpp", kind=ServerKind.LLAMA, ports=(9931, 8080)),
    UsualServer(scheme="lmstudio", program="LM Studio", kind=ServerKind.LM_STUDIO, ports=(1234,)),
    UsualServer(scheme="ollama", program="Ollama", kind=ServerKind.OLLAMA, ports=(11434,)),
)


def usual_servers(env: Mapping[str, str] = os.environ) -> tuple[UsualServer, ...]:
    """Return the servers, Ollama with the port that OLLAMA_HOST gives it."""
    found = re.search(r":(\d{1,5})/?$", env.get("OLLAMA_HOST", ""))
    if found is None:
        return USUAL
    *others, ollama = USUAL
    return (*others, replace(ollama, ports=(int(found[1]),)))


def open_usual(usual: UsualServer, name: str, settings: Settings) -> Model:
    """Return the model `name` of a server on its usual port, its only one where that is "".

    Where no llama.cpp serves, the file of that name is served by one of ours.

    Raises:
        ModelProblem: no server of llama.cpp runs, and no file has that name.
    """
    port = next((port for port in usual.ports if _listens(port)), 0)
    if not port and usual.kind is ServerKind.LLAMA and name:
        path = find_model(name, models_folder(settings.models_dir))
        return open_file(str(path), replace(settings, engine="llama-server"))
    url = f"http://127.0.0.1:{port or usual.ports[0]}"
    return ServerModel(f"{url}#{name}" if name else url, settings)


def running_servers(usual: Sequence[UsualServer]) -> tuple[RunningServer, ...]:
    """Return the servers that answer on their usual ports, with the models that they list."""
    found: list[RunningServer] = []
    for server in usual:
        for port in filter(_listens, server.ports):
            with suppress(ModelProblem):  # something else may have the port
                listed = Loopback(f"http://127.0.0.1:{port}").ask("/v1/models", _LIST)
                if is_told(listed):
                    found.append(_found(server, port, listed))
    return tuple(found)


def _found(usual: UsualServer, port: int, listed: Response) -> RunningServer:
    """Return the server that listed its models; many a program serves where llama.cpp does."""
    names = listed_models(listed)
    if usual.kind is ServerKind.LLAMA and listed_owner(listed) != usual.kind:
        models = tuple(f"server:localhost:{port}#{name}" for name in names)
        return RunningServer(program="a server", port=port, models=models)
    models = tuple(f"{usual.scheme}:{name}" for name in names)
    return RunningServer(program=usual.program, port=port, models=models)


def _listens(port: int) -> bool:
    """Whether somebody takes connections on a port of this machine."""
    try:
        with socket.create_connection(("127.0.0.1", port), _KNOCK):
            return True
    except OSError:
        return False
