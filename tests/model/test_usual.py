"""Servers that are found by the program that they are, on the ports that it usually has."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Message, Prompt, Role, Settings
from pytest_brt.model.llama_server import PrivateModel, arguments, find_server
from pytest_brt.model.memory import MemoryPlan
from pytest_brt.model.opening import open_model
from pytest_brt.model.served import ServerKind
from pytest_brt.model.server import ServerModel
from pytest_brt.model.usual import UsualServer, open_usual, running_servers, usual_servers
from pytest_brt.model.wire import Start
from tests.model.stand_in import Server

PROMPT = Prompt(messages=(Message(role=Role.USER, text="hi"),))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.end()


@pytest.fixture
def closed() -> Iterator[int]:
    """A port at which nobody listens, and that nobody else can take."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def listed(owner: str, *names: str) -> dict[str, object]:
    return {"data": [{"id": name, "owned_by": owner} for name in names]}


def usual(kind: ServerKind, *ports: int) -> UsualServer:
    return UsualServer(scheme="x", program="Program", kind=kind, ports=ports)


def test_the_usual_ports() -> None:
    ports = {server.scheme: server.ports for server in usual_servers({})}
    assert ports == {"llama": (9931, 8080), "lmstudio": (1234,), "ollama": (11434,)}


@pytest.mark.parametrize("host", ["127.0.0.1:1500", "http://0.0.0.0:1500/", ":1500"])
def test_ollama_is_where_its_own_setting_says(host: str) -> None:
    *_, ollama = usual_servers({"OLLAMA_HOST": host})
    assert (ollama.scheme, ollama.ports) == ("ollama", (1500,))


def test_a_model_of_ollama_by_name(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
    server.about(
        __v1__models=listed("library", "qwen3:8b", "tiny:latest"), __api__show={}, __api__ps={}
    )
    for name in ("qwen3:8b", "tiny"):
        model = open_model(f"ollama:{name}", Settings())
        assert model.complete(PROMPT)[0].text == "hello"
        assert server.asked()[-1]["model"] == name
    with pytest.raises(ModelProblem, match=r"no model called 'qwen': qwen3:8b, tiny:latest \("):
        open_model("ollama:qwen", Settings()).complete(PROMPT)


@pytest.mark.parametrize("address", ["localhost:{}", "127.0.0.1:{}/v1", "http://localhost:{}"])
def test_a_server_by_its_port(server: Server, address: str) -> None:
    model = open_model(f"server:{address.format(server.port)}", Settings())
    assert model.complete(PROMPT)[0].text == "hello"


def test_the_first_port_that_answers_is_taken(server: Server, closed: int) -> None:
    server.about(__v1__models=listed("organization_owner", "one"), __api__v0__models={})
    model = open_usual(usual(ServerKind.LM_STUDIO, closed, server.port), "one", Settings())
    assert model.complete(PROMPT)[0].text == "hello"


def test_nobody_on_the_usual_port(closed: int) -> None:
    model = open_usual(usual(ServerKind.OLLAMA, closed), "one", Settings())
    with pytest.raises(ModelProblem, match=f"no answer from 'http://127.0.0.1:{closed}'"):
        model.complete(PROMPT)


@pytest.mark.skipif(not find_server(), reason="no llama-server here")
def test_a_file_is_served_where_no_server_runs(weights: Path, closed: int) -> None:
    server = usual(ServerKind.LLAMA, closed)
    model = open_usual(server, str(weights / "llama.gguf"), Settings(context=512, threads=1))
    assert isinstance(model, PrivateModel)
    model.close()


def test_a_name_that_neither_server_nor_file_has(closed: int, tmp_path: Path) -> None:
    with pytest.raises(ModelProblem, match="no model is called 'nothing'"):
        open_usual(usual(ServerKind.LLAMA, closed), "nothing", Settings(models_dir=str(tmp_path)))


def test_servers_that_run_are_found_with_the_names_of_their_models(
    server: Server, closed: int
) -> None:
    server.about(__v1__models=listed("library", "a:7b", "b"))
    (found,) = running_servers([usual(ServerKind.OLLAMA, closed, server.port)])
    assert (found.program, found.port, found.models) == ("Program", server.port, ("x:a:7b", "x:b"))


def test_another_program_on_the_port_of_llama_cpp_is_not_called_so(server: Server) -> None:
    server.about(__v1__models=listed("vllm", "big"))
    (found,) = running_servers([usual(ServerKind.LLAMA, server.port)])
    names = (f"server:localhost:{server.port}#big",)
    assert (found.program, found.models) == ("a server", names)
    server.about(__v1__models={"hello": "world"})
    assert running_servers([usual(ServerKind.LLAMA, server.port)]) == ()


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_one_program_of_llama_cpp_serves_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    llama = program(tmp_path, "llama", '[ "$1" = serve ] && echo "-c, --ctx-size N"')
    assert find_server() == str(llama)
    plan = MemoryPlan(cells=512, lanes=1, longest=512, sequences=1, threads=1)
    start = Start(path="m.gguf", template="", plan=plan, program=str(llama), socket="s")
    assert arguments(start)[:4] == [str(llama), "serve", "--model", "m.gguf"]
    program(tmp_path, "llama", "echo 'usage: llama [stack|model]'")
    assert find_server() != str(llama)
    server = program(tmp_path, "llama-server", "")
    assert find_server() == str(server)
    assert arguments(replace(start, program=str(server)))[1] == "--model"


def test_a_server_model_is_named_by_its_address(server: Server) -> None:
    model = open_model(f"server:localhost:{server.port}#one", Settings())
    assert isinstance(model, ServerModel)
    assert model.name == f"server:http://localhost:{server.port}#one"
