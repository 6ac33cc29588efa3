from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from pytest_brt.errors import ModelProblem, OutOfTime, Overflowed
from pytest_brt.model.client import Server
from pytest_brt.model.request import Usage
from tests.model.serve import Answer, ask, completion, open_model, serving


def echo(request: dict[str, Any]) -> tuple[int, object]:
    first, count = request["seed"], request.get("n", 1)
    return completion(*(f"reply {seed}" for seed in range(first, first + count)))


def test_samples_come_in_one_request() -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> tuple[int, object]:
        asked.append(request)
        return echo(request)

    with serving(answer) as url:
        replies = open_model(url).complete(ask("hello", n=3, seed=7))
    assert [reply.text for reply in replies] == ["reply 7", "reply 8", "reply 9"]
    assert [request["n"] for request in asked] == [3]


def test_a_server_that_gives_one_reply_is_asked_for_the_others() -> None:
    def answer(request: dict[str, Any]) -> tuple[int, object]:
        return completion(f"reply {request['seed']}")

    usage = Usage()
    with serving(answer) as url:
        replies = open_model(url, usage).complete(ask("hello", n=3))
    assert [reply.text for reply in replies] == ["reply 0", "reply 1", "reply 2"]
    assert (usage.cost.calls, usage.cost.tokens) == (3, 12)


def test_a_server_without_room_for_many_samples_is_asked_for_one_after_the_other() -> None:
    """As llama-server is with a model whose attention slides, once its prompt is long."""
    asked, busy = list[int](), list[int]()

    def answer(request: dict[str, Any]) -> tuple[int, object]:
        asked.append(request.get("n", 1))
        if asked[-1] > 1 or busy or len(asked) == 2:  # others may have taken all for a while
            return 500, {"error": {"message": "Context size has been exceeded."}}
        busy.append(1)
        time.sleep(0.05)
        busy.clear()
        return echo(request)

    with serving(answer) as url:
        model = open_model(url)
        replies = [*model.complete(ask("hello", n=3)), *model.complete(ask("again", n=2))]
    assert [reply.text for reply in replies] == [f"reply {n}" for n in (0, 1, 2, 0, 1)]
    assert asked == [3, 1, 3, 1, 1, 1, 1, 1]


def test_what_a_server_refuses_is_left_out() -> None:
    asked: list[set[str]] = []

    def answer(request: dict[str, Any]) -> tuple[int, object]:
        asked.append(set(request))
        for name in ("chat_template_kwargs", "response_format"):
            if name in request:
                return 400, {"error": f"unknown field {name}"}
        return completion("{}")

    with serving(answer) as url:
        model = open_model(url)
        assert model.text(ask("hello", schema='{"type": "object"}')) == "{}"
        assert model.text(ask("again", schema='{"type": "object"}')) == "{}"
    assert len(asked) == 4
    assert not asked[-1] & {"chat_template_kwargs", "response_format"}


def test_thoughts_are_no_answer() -> None:
    with serving(lambda _: completion("<think>\nwell\n</think>\n\nyes")) as url:
        assert open_model(url).text(ask("hello")) == "yes"
    with serving(lambda _: completion("<think>\nand so on")) as url:
        assert open_model(url).text(ask("hello")) == ""


def test_a_prompt_that_is_too_long() -> None:
    refusal = {"error": "the request exceeds the available context size"}
    with serving(lambda _: (400, refusal)) as url:
        model = open_model(url)
        assert model.context == 8192
        with pytest.raises(Overflowed, match="does not fit"):
            model.text(ask("hello"))
        assert model.context < 8192


def test_a_prompt_that_was_cut_in_silence() -> None:
    short = {"prompt_tokens": 4096, "completion_tokens": 1}
    with (
        serving(lambda _: completion("yes", usage=short)) as url,
        pytest.raises(ModelProblem, match="read only 4096 tokens"),
    ):
        open_model(url).text(ask("word " * 20_000))


ODD: dict[str, tuple[Answer, str]] = {
    "nonsense": (lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "not a chat"),
    "no HTTP": (lambda _: b"hello\r\n\r\n", "no answer"),
    "a redirect": (
        lambda _: b"HTTP/1.1 302 X\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n",
        "answers 302",
    ),
    "no choices": (lambda _: (200, {"choices": []}), "not a chat"),
    "no message": (lambda _: (200, {"choices": [{"text": "hello"}]}), "not a chat"),
    "lists of numbers": (lambda _: (200, {"choices": [1], "usage": [2]}), "not a chat"),
    "cut off": (lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", "no answer"),
    "fails": (lambda _: (500, {"error": "out of luck"}), "answers 500"),
}


@pytest.mark.parametrize("kind", ODD)
def test_a_server_that_answers_oddly(kind: str) -> None:
    answer, expected = ODD[kind]
    with serving(answer) as url:
        model = open_model(url)
        assert model.server is not None
        model.server.pauses = ()
        with pytest.raises(ModelProblem, match=expected):
            model.text(ask("hello"))
        assert expected in model.usage.unheard


def test_more_replies_than_were_asked_for_are_left_out() -> None:
    with serving(lambda _: completion("yes", "no", "perhaps")) as url:
        assert open_model(url).text(ask("hello")) == "yes"


@pytest.mark.parametrize("models", [[], {"data": [1]}, {"data": [{"id": "m", "meta": "big"}]}])
def test_a_server_that_tells_nonsense_of_its_models(models: object) -> None:
    with (
        serving(echo, models) as url,
        pytest.raises(ModelProblem, match="not an OpenAI-compatible server"),
    ):
        open_model(url).text(ask("hello"))


def test_what_came_in_time_is_had() -> None:
    def answer(request: dict[str, Any]) -> tuple[int, object] | None:
        if "n" in request:
            return 400, {"error": "n is not supported"}
        return completion("yes") if request["seed"] < 2 else None

    with serving(answer) as url:
        model = open_model(url, Usage(deadline=time.monotonic() + 3))
        assert [reply.text for reply in model.complete(ask("hello", n=3))] == ["yes", "yes"]


def test_several_models_and_none_is_named() -> None:
    with serving(echo, {"data": [{"id": "a"}, {"id": "b"}]}) as url:
        with pytest.raises(ModelProblem, match=r"has 2 models .*: a, b"):
            open_model(url).text(ask("hello"))
        assert open_model(f"{url}#b").text(ask("hello")) == "reply 0"


def test_closing_ends_who_waits() -> None:
    with serving(lambda _: None) as url:
        model = open_model(url)
        assert model.server is not None
        model.server.pauses = ()
        threading.Timer(0.5, model.close).start()
        with pytest.raises(ModelProblem):
            model.text(ask("hello"))


def test_a_server_that_drips_is_waited_for_no_longer_than_one_that_is_silent() -> None:
    def drip(listening: socket.socket) -> None:
        with suppress(OSError), listening.accept()[0] as connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: ")
            while True:
                connection.sendall(b"x")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=drip, args=[listening], daemon=True).start()
        server = Server(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        with pytest.raises(OutOfTime, match="within 1 s"):
            server.send("/models", 1.0)


@pytest.mark.parametrize("text", ['{"choices": [1e999]}', "[" * 100_000])
def test_an_answer_that_is_no_completion_is_a_problem(text: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n"
    with serving(lambda _: (head + text).encode()) as url, pytest.raises(ModelProblem):
        open_model(url).complete(ask("hello"))
