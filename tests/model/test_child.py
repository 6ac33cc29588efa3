"""Real servers for a real file: random weights, which say nothing."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from pytest_brt.agents.reply import first_object
from pytest_brt.errors import ModelProblem, Overflowed
from pytest_brt.model.child import Child, engines
from tests.model.serve import ask, open_model
from tests.scenarios.gguf import write_tiny


def needs(engine: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(engine not in engines(), reason=f"wants {engine}")


FORM = (
    '{"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}}, "required": ["a"]}'
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize(
        "engine",
        [
            pytest.param("llama-server", marks=needs("llama-server")),
            pytest.param("llama-cpp-python", marks=[pytest.mark.llama, needs("llama-cpp-python")]),
        ],
    ),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


def test_it_answers_and_goes_on_after_its_death(tiny: Path, engine: str) -> None:
    model = open_model(f"gguf:{tiny},context=2048,engine={engine}")
    try:
        replies = model.complete(ask("hello", n=3, max_tokens=20))
        assert len({reply.text for reply in replies}) == 3
        assert (model.context, model.usage.cost.tokens > 20) == (2048, True)
        asked = ask("a thing", schema=FORM, max_tokens=80)
        assert "a" in first_object(model.text(asked))
        with pytest.raises(Overflowed):
            model.text(ask("word " * 9000))
    finally:
        model.close()


def test_it_is_started_again_where_it_was_killed_in_the_middle(tiny: Path, engine: str) -> None:
    model = open_model(f"gguf:{tiny},context=8192,engine={engine}")
    child = model.server
    assert isinstance(child, Child)
    try:
        assert model.complete(ask("hello", max_tokens=5))[0].is_cut
        first = child.process
        assert first is not None
        threading.Timer(0.1, os.kill, (first.pid, signal.SIGKILL)).start()
        # One may end early by itself: all of them take longer than the process lives.
        assert model.complete(ask("long ones", n=16, max_tokens=2000))
        assert first.poll() == -signal.SIGKILL
        assert model.text(ask("once more", max_tokens=5))
        assert child.is_running
    finally:
        model.close()
    assert not child.is_running


@pytest.mark.parametrize("kind", ["no header", "cut off", "empty"])
def test_a_file_that_is_no_model(tmp_path: Path, tiny: Path, engine: str, kind: str) -> None:
    whole = tiny.read_bytes()
    content = {"no header": b"GGUF" + bytes(100), "cut off": whole[: len(whole) // 2], "empty": b""}
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(content[kind])
    with pytest.raises(ModelProblem) as caught:
        open_model(f"gguf:{bad},engine={engine}").text(ask("hello"))
    said = str(caught.value)
    assert said.startswith("'bad.gguf' cannot be loaded: ")
    assert said.endswith("(is it a whole GGUF file?)")
    assert "\n" not in said
