"""What a model costs is added up, and the time it has is kept."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem, OutOfTime
from pytest_brt.model.base import Finish, Message, Prompt, Role, Settings
from pytest_brt.model.metered import Meter, MeteredModel
from pytest_brt.model.opening import NoModel
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.model.server import ServerModel

PROMPT = Prompt(messages=(Message(role=Role.USER, text="What is the bug?"),))


def scripted(folder: Path) -> ScriptedModel:
    path = folder / "script.txt"
    path.write_text("=== always if: bug\nIt is in the parser.\n", "utf-8")
    return ScriptedModel(str(path), Settings())


def test_the_cost_of_all_calls_is_added_up(tmp_path: Path) -> None:
    meter = Meter()
    model = MeteredModel(scripted(tmp_path), meter)
    (one,) = model.complete(PROMPT)
    model.complete(Prompt(messages=PROMPT.messages, samples=3))
    cost = meter.cost
    assert cost.calls == 2
    assert cost.tokens == 4 * one.tokens
    assert cost.prompt_tokens == 4 * one.prompt_tokens
    assert model.count("abc") == model.model.count("abc")


def test_a_model_that_never_answered_is_known_to_the_whole_run(tmp_path: Path) -> None:
    run = Meter()
    gone = MeteredModel(
        ServerModel("http://127.0.0.1:9", Settings(patience=0.1, comeback=0.1)), Meter(run)
    )
    with pytest.raises(ModelProblem):
        gone.complete(PROMPT)
    assert "start the server" in run.unheard
    MeteredModel(scripted(tmp_path), Meter(run)).complete(PROMPT)
    assert run.unheard == ""
    nobody = Meter()
    with pytest.raises(ModelProblem):
        MeteredModel(NoModel(), nobody).complete(PROMPT)
    assert nobody.unheard == ""


@pytest.mark.parametrize("prefill", ["", "def test_"])
def test_a_model_that_is_cut_before_its_first_word_has_not_answered(prefill: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes requests, and says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        model = MeteredModel(ServerModel(url, Settings(patience=0.1, comeback=0.1)), Meter())
        (cut,) = model.complete(replace(PROMPT, seconds=0.5, prefill=prefill))
    assert (cut.text, cut.finish) == (prefill, Finish.TIME)
    assert model.meter.unheard.startswith(f"server:{url}: no answer within 0.5 s (give")


def test_nobody_is_asked_when_the_time_is_over(tmp_path: Path) -> None:
    model = MeteredModel(scripted(tmp_path), Meter(), time.monotonic() - 60)
    with pytest.raises(OutOfTime, match="time for this run is used up"):
        model.complete(PROMPT)
    assert model.meter.cost.calls == 0
