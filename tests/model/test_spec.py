from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.model.child import Child
from pytest_brt.model.spec import default_spec, read_spec


def test_servers_are_named_by_program_or_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:7777")
    server = read_spec("ollama:qwen3:8b").server
    assert (server.url, server.name) == ("http://127.0.0.1:7777", "qwen3:8b")
    assert read_spec("llama:").server.url == "http://127.0.0.1:8080"
    server = read_spec("server:localhost:9000#big,context=8192").server
    assert (server.url, server.name, server.context) == ("http://127.0.0.1:9000", "big", 8192)


@pytest.mark.parametrize(
    "text", ["server:example.com:80", "server:https://localhost", "server:http://10.0.0.1:8080"]
)
def test_other_machines_are_not_asked(text: str) -> None:
    with pytest.raises(ModelProblem, match="not an http address of this machine"):
        read_spec(text)


@pytest.mark.parametrize("text", ["magic", "gguf:", "gguf:none.gguf", "llama:x,size=3", "x.gguf"])
def test_what_is_no_model(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_BRT_MODELS", str(tmp_path))
    with pytest.raises(BrtError, match="--brt-model"):
        read_spec(text)


def test_files_are_found_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_BRT_MODELS", str(tmp_path))
    for name in ("small.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    child = read_spec("gguf:small,engine=llama-cpp-python").server
    assert isinstance(child, Child)
    assert (child.path, child.engine) == (tmp_path / "small.gguf", "llama-cpp-python")
    assert default_spec() == "none", "there are two"
    (tmp_path / "small.gguf").unlink()
    assert default_spec() == f"gguf:{tmp_path / 'big-00001-of-00002.gguf'}"
