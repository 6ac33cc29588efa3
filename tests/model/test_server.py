from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.errors import ModelProblem, Overflowed
from pytest_brt.model.base import Finish, Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.form import grammar_for
from pytest_brt.model.loopback import Response
from pytest_brt.model.server import ServerModel
from pytest_brt.types.model import AnswersLost, ContextLoaded, OnlyThought, PromptCut
from tests.model.actions import AGENT, JUDGE, Cat, Edit, Verdict, choice_grammar
from tests.model.headers import read_reply
from tests.model.stand_in import Server

JUDGED = '{"reproduces": true, "confidence": 80, "why": "it says so"}'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.end()


def prompt(text: str = "hi", **how: Any) -> Prompt:
    return Prompt(messages=(Message(role=Role.USER, text=text),), **how)


def settings(**how: Any) -> Settings:
    patience = how.get("patience", 15.0)
    return Settings(**{"patience": patience, "comeback": patience, "context": 4096, **how})


def test_an_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_BRT_SERVER_KEY", "sesame")
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:9")
    server.plan({"text": "<think>hm</think>\n\nhello, stop here"})
    model = ServerModel(server.url, settings())
    (done,) = model.complete(prompt(sampling=Sampling(seed=5, stop=(", stop",), top_p=0.9)))
    assert (done.text, done.thinking, done.finish) == ("hello", "hm", Finish.STOP)
    assert (done.prompt_tokens, done.tokens, done.seed) == (7, 3, 5)
    (request,) = server.asked()
    assert request["messages"] == [{"role": "user", "content": "hi"}]
    assert (request["model"], request["seed"], request["top_p"]) == ("one", 5, 0.9)
    assert request["authorization"] == "Bearer sesame"
    kwargs = {"enable_thinking": False, "thinking": False, "reasoning_effort": "low"}
    assert request["chat_template_kwargs"] == kwargs


def test_samples_are_asked_for_at_the_same_time(server: Server) -> None:
    server.plan({"seeded": True, "together": True})
    done = ServerModel(server.url, settings()).complete(prompt(samples=8))
    assert [d.text for d in done] == [f"seed {n}" for n in range(8)]


FAULTS: dict[str, dict[str, object]] = {
    "drop": {"drop": True},
    "half": {"half": True, "text": "x" * 500},
    "500": {"status": 500},
    "503": {"status": 503},
    "not json": {"body": "<html>oops</html>"},
    "other json": {"body": '{"choices": []}'},
    "list": {"body": "[1]"},
    "redirect": {"redirect": "http://192.0.2.1/"},
}


@pytest.mark.parametrize("most", [8, 1], ids=["together", "apart"])
def test_what_was_answered_before_a_server_was_gone_is_kept(server: Server, most: int) -> None:
    server.about(**OF_THREE)
    server.plan({"text": "in time", "most": most}, {"die": True})
    begin = time.monotonic()
    done = ServerModel(server.url, settings(patience=1.0)).complete(prompt(samples=8))
    assert [answer.text for answer in done] == ["in time"] * (3 if most == 8 else 1)
    lost = 8 - len(done)
    (note,) = done[0].notes
    assert isinstance(note, AnswersLost)
    assert (note.count, note.of, note.said[:21]) == (lost, 8, "no answer from 'http:")
    assert server.asked()[0]["n"] == 3
    assert time.monotonic() - begin < 60


def test_only_what_a_server_lost_is_asked_again(server: Server) -> None:
    server.about(**OF_THREE)
    server.plan({"text": "a"}, {"half": True, "text": "x"}, {"drop": True}, {"text": "b"})
    done = ServerModel(server.url, settings()).complete(prompt(samples=8))
    assert [answer.text for answer in done] == ["a"] * 3 + ["b"] * 5
    assert [request["n"] for request in server.asked()] == [3, 3, 3, 3, 2]
    assert [request["seed"] for request in server.asked()] == [0, 3, 3, 3, 6]


def test_a_server_that_is_gone_is_no_answer_that_was_cut(server: Server) -> None:
    """Though the time of the question is over before patience is."""
    server.plan({"die": True})
    with pytest.raises(ModelProblem, match=r"refused; tried for \d s \(start the server"):
        ServerModel(server.url, settings(patience=30)).complete(prompt(samples=4, seconds=3.0))


@pytest.mark.parametrize("name", [n for n in FAULTS if n != "redirect"])
def test_a_passing_fault_is_got_over(server: Server, name: str) -> None:
    server.plan(FAULTS[name], FAULTS[name], {"text": "at last"})
    (done,) = ServerModel(server.url, settings()).complete(prompt())
    assert done.text == "at last"
    assert len(server.asked()) == 3


@pytest.mark.parametrize("name", FAULTS)
def test_a_lasting_fault_is_one_line(server: Server, name: str) -> None:
    server.plan(FAULTS[name])
    start = time.monotonic()
    with pytest.raises(ModelProblem, match=server.url) as caught:
        ServerModel(server.url, settings(patience=0.5)).complete(prompt())
    assert time.monotonic() - start < 60
    assert "\n" not in str(caught.value)


def test_nobody_there() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # nobody listens, and nobody else can take the port
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(ModelProblem, match=r"refused; tried for 0 s \(start the server"):
            ServerModel(url, settings(patience=0.3)).complete(prompt())


def test_a_closed_port_is_one_line_within_seconds() -> None:
    begin = time.monotonic()
    with pytest.raises(ModelProblem, match=r"127.0.0.1:9'.*tried for 1 s .*patience=60") as caught:
        ServerModel("http://127.0.0.1:9", Settings()).complete(prompt())
    assert "\n" not in str(caught.value)
    assert time.monotonic() - begin < 3


def test_a_server_that_is_still_starting_is_waited_for(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started: list[Server] = []
    later = threading.Timer(1.0, lambda: started.append(Server(tmp_path, port)))
    later.start()
    try:
        model = ServerModel(f"http://127.0.0.1:{port}", Settings(patience=60.0))
        assert model.complete(prompt())[0].text == "hello"
    finally:
        later.join()
        for running in started:
            running.end()


@pytest.mark.parametrize(
    "step",
    [
        {"status": 404},
        {"status": 404, "page": "<html>not found</html>"},
        {"status": 501, "page": "<html>Unsupported method</html>"},
        {"body": "<html>welcome</html>"},
    ],
    ids=["404", "page 404", "page 501", "html"],
)
def test_a_wrong_server_is_one_line_within_seconds(server: Server, step: dict[str, object]) -> None:
    server.about(__v1__models={"hello": "world"})
    server.plan(step)
    begin = time.monotonic()
    with pytest.raises(ModelProblem, match=r"127.0.0.1:.*pytest-brt models") as caught:
        ServerModel(server.url, Settings()).complete(prompt())
    assert "\n" not in str(caught.value)
    assert time.monotonic() - begin < 4


def test_one_round_of_tries_is_enough_where_nobody_ever_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        model = ServerModel(f"http://127.0.0.1:{deaf.getsockname()[1]}", settings(patience=1.0))
        asked: list[str] = []
        ask = model.server.ask

        def counted(path: str, *how: Any) -> Response:
            asked.append(path)
            return ask(path, *how)

        monkeypatch.setattr(model.server, "ask", counted)
        tries: list[int] = []
        told: set[str] = set()
        for _ in range(3):
            with pytest.raises(ModelProblem, match="tried for 1 s") as caught:
                model.complete(prompt())
            told.add(str(caught.value))
            tries.append(sum("chat" in path for path in asked))
            asked.clear()
    assert tries[0] > 1
    assert tries[1:] == [1, 1]
    assert len(told) == 1


def test_a_server_that_has_answered_keeps_its_patience(server: Server) -> None:
    model = ServerModel(server.url, settings(patience=1.0))
    model.complete(prompt())
    server.plan({"die": True})
    for _ in range(2):
        begin = time.monotonic()
        with pytest.raises(ModelProblem, match="tried for 1 s"):
            model.complete(prompt())
        assert time.monotonic() - begin > 0.5


@pytest.mark.parametrize("step", [{"wait": 90, "text": "late"}, {"drip": 0.5, "text": "late"}])
def test_a_slow_server_is_cut_off_in_time(server: Server, step: dict[str, object]) -> None:
    server.plan(step)
    start = time.monotonic()
    (done,) = ServerModel(server.url, settings()).complete(prompt(seconds=0.6))
    assert done.finish is Finish.TIME
    assert time.monotonic() - start < 30


def test_a_server_that_does_not_say_what_it_is_is_not_asked_before_each_question() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        model = ServerModel(f"http://127.0.0.1:{silent.getsockname()[1]}", settings(patience=0.5))
        for _ in range(3):  # the time must be enough to ask in
            assert model.complete(prompt(seconds=0.5))[0].finish is Finish.TIME
        silent.setblocking(False)
        asked = []
        with contextlib.suppress(BlockingIOError):
            while True:
                connection, _ = silent.accept()
                asked.append(connection.recv(4).decode())
                connection.close()
    assert asked == ["GET ", "POST", "POST", "POST"]


def test_close_cuts_what_is_under_way(server: Server) -> None:
    server.plan({"wait": 90})
    model = ServerModel(server.url, settings())
    threading.Timer(0.5, model.close).start()
    start = time.monotonic()
    with pytest.raises(ModelProblem, match="was closed"):
        model.complete(prompt(samples=3))
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    "url",
    [
        "http://192.0.2.1:8080",
        "http://example.com",
        "http://0.0.0.0:80",
        "http://127.0.0.1.example.com",
        "http://[2001:db8::1]:80",
        "http://user@10.0.0.1",
        "http://127.0.0.1@10.0.0.1/",
    ],
)
def test_nothing_but_loopback(url: str) -> None:
    with pytest.raises(ModelProblem, match="not on this machine"):
        ServerModel(url, settings())


@pytest.mark.parametrize("url", ["https://127.0.0.1", "127.0.0.1:80", "", "http://", "http://a:b"])
def test_not_a_url(url: str) -> None:
    with pytest.raises(ModelProblem):
        ServerModel(url, settings())


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "[::1]"])
def test_the_names_of_this_machine(host: str) -> None:
    assert ServerModel(f"http://{host}:80/v1", settings()).base == "/v1"


def test_several_models_need_a_choice(server: Server) -> None:
    server.models("a:7b", "b")
    with pytest.raises(ModelProblem, match=r"2 models: a:7b, b \(choose one: .*#a:7b\)"):
        ServerModel(server.url, settings()).complete(prompt())
    model = ServerModel(f"{server.url}#b", settings())
    assert model.complete(prompt())[0].text == "hello"
    assert server.asked()[0]["model"] == "b"


# -- form ---------------------------------------------------------------------------------------


def test_a_schema_is_sent_and_the_reply_passed_on_as_it_is(server: Server) -> None:
    server.plan({"obeys": JUDGED, "text": "?"})
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar_for(*JUDGE)))
    assert read_reply(done.text, Verdict).header.confidence == 80
    server.plan({"text": "I think so!"})
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar_for(*JUDGE)))
    assert done.text == "I think so!"
    assert len(server.asked()) == 2


@pytest.mark.parametrize("field", ["response_format", "chat_template_kwargs", "seed"])
def test_a_field_that_is_refused_is_left_out(server: Server, field: str) -> None:
    server.plan({"refuses": field, "text": JUDGED})
    model = ServerModel(server.url, settings())
    for _ in range(2):
        (done,) = model.complete(prompt(grammar=grammar_for(*JUDGE)))
        assert done.text == JUDGED
    assert [field in request for request in server.asked()] == [True, False, False]


def test_a_refusal_that_is_not_about_a_field(server: Server) -> None:
    server.plan({"status": 401})
    with pytest.raises(ModelProblem, match=r"another key \(PYTEST_BRT_SERVER_KEY\): 401 .*no, sor"):
        ServerModel(server.url, settings()).complete(prompt())
    server.plan({"status": 400})
    with pytest.raises(ModelProblem, match="refuses the prompt: 400"):
        ServerModel(server.url, settings()).complete(prompt())


def test_only_the_field_that_an_error_names_is_left_out(server: Server) -> None:
    error = {"message": "Input should be 'text' or 'json_object', not json_schema"}
    server.plan({"status": 500, "error": error}, {"text": JUDGED})
    model = ServerModel(server.url, settings())
    for _ in range(2):
        assert model.complete(prompt(grammar=grammar_for(*JUDGE)))[0].text == JUDGED
    first, *rest = server.asked()
    assert [first.keys() - request.keys() for request in rest] == [{"response_format"}] * 2


OVERFLOWS = [
    {"type": "exceed_context_size_error", "message": "request exceeds", "n_ctx": 2048},
    {"message": "This model's maximum context length is 2048 tokens. However, you asked for more"},
]


@pytest.mark.parametrize("error", OVERFLOWS)
def test_a_prompt_that_is_too_long_is_told_so_and_costs_nothing_else(
    server: Server, error: dict[str, object]
) -> None:
    server.plan({"status": 400, "error": error}, {"text": "short"})
    model = ServerModel(server.url, settings())
    with pytest.raises(Overflowed, match=r"longer than the context .* 2048 tokens .*,context=N"):
        model.complete(prompt("word " * 9000))
    assert model.context == 2048
    assert model.complete(prompt())[0].text == "short"
    first, second = server.asked()
    assert first.keys() == second.keys()


def test_where_nobody_tells_the_context_goes_down_at_each_refusal(server: Server) -> None:
    refusal = {"status": 400, "error": {"message": "the request exceeds the context window"}}
    server.plan(refusal, refusal, {"text": "fits"})
    model = ServerModel(server.url, settings(context=0))
    contexts = [model.context]
    for _ in range(2):
        with pytest.raises(Overflowed, match=r"taken as \d+ tokens from now on"):
            model.complete(prompt("word " * 6000))
        contexts.append(model.context)
    assert contexts[0] == 16_384 > contexts[1] > contexts[2] > 0
    assert model.complete(prompt("word " * 600))[0].text == "fits"


def test_ollama_is_asked_for_one_context_and_for_no_cuts(server: Server) -> None:
    server.about(**ABOUT["ollama, not loaded"][0])
    server.plan(
        {"text": JUDGED}, {"message": {"thinking": "hm", "content": "x"}, "finish": "length"}
    )
    model = ServerModel(server.url, settings(context=12_000))
    grammar = grammar_for(*JUDGE)
    assert model.complete(prompt(grammar=grammar))[0].text == JUDGED
    (done,) = model.complete(prompt(sampling=Sampling(seed=3, max_tokens=99, stop=("\n\n",))))
    assert (done.text, done.thinking, done.finish) == ("x", "hm", Finish.LENGTH)
    assert (done.prompt_tokens, done.tokens) == (7, 3)
    first, second = server.asked()
    assert first["format"]["required"] == ["reproduces", "confidence", "why"]
    assert "format" not in second
    assert second["options"]["num_predict"] == 99
    assert second["options"]["stop"] == ["\n\n"]
    for request in (first, second):
        assert (request["asked_at"], request["truncate"]) == ("/api/chat", False)
        assert (request["stream"], request["options"]["num_ctx"]) == (False, 12_000)


def test_less_context_than_ollama_was_asked_for_is_seen_and_said(server: Server) -> None:
    told = ABOUT["ollama, not loaded"][0]
    server.about(**told)
    model = ServerModel(server.url, settings(context=0))
    assert model.context == 16_384
    server.about(**{**told, "__api__ps": {"models": [{"name": "m", "context_length": 4096}]}})
    model.complete(prompt())
    assert model.context == 4096
    assert model.notes == (ContextLoaded(model="m", tokens=4096, wanted=16_384),)


def test_a_prompt_that_ollama_refuses_for_its_length(server: Server) -> None:
    server.about(**ABOUT["ollama, not loaded"][0])
    error = "the prompt is too long: it exceeds the context length of 16384"
    server.plan({"status": 400, "error": error})
    with pytest.raises(Overflowed, match="taken as 16384 tokens"):
        ServerModel(server.url, settings(context=0)).complete(prompt())


def test_a_model_that_always_thinks_gets_room_for_it(server: Server) -> None:
    family = {"details": {"family": "gptoss"}, "capabilities": ["thinking"]}
    server.about(**{**ABOUT["ollama, not loaded"][0], "__api__show": family})
    ServerModel(server.url, settings()).complete(prompt(sampling=Sampling(max_tokens=10)))
    (request,) = server.asked()
    assert (request["think"], request["options"]["num_predict"]) == ("low", 522)


ACTED = '{"action": "edit", "path": "t.py", "block": 1, "thought": "x"}'


@pytest.mark.parametrize(
    "message",
    [
        {"content": "", "reasoning_content": f"I edit it.\n{{}}\n{ACTED}\n"},
        {
            "content": None,
            "tool_calls": [
                {"function": {"name": "edit", "arguments": '{"path": "t.py", "block": 1}'}}
            ],
        },
        {
            "content": None,
            "tool_calls": [
                {"function": {"name": "edit", "arguments": {"path": "t.py", "block": 1}}}
            ],
        },
    ],
    ids=["in thoughts", "as OpenAI's tool call", "as Ollama's tool call"],
)
def test_an_action_beside_the_answer_is_read(server: Server, message: dict[str, object]) -> None:
    server.plan({"message": message})
    grammar = grammar_for(*AGENT)
    model = ServerModel(server.url, settings())
    (done,) = model.complete(prompt(grammar=grammar))
    header = json.loads(done.text)
    assert (header["action"], header["path"], header["block"]) == ("edit", "t.py", 1)
    (done,) = model.complete(prompt())  # no action was asked for: thoughts are no answer
    assert done.text == ""


def test_too_many_requests_wait_as_long_as_they_are_told(server: Server) -> None:
    server.plan({"status": 429, "after": 1}, {"text": "now"})
    start = time.monotonic()
    (done,) = ServerModel(server.url, settings(patience=0.2)).complete(prompt())
    assert done.text == "now"
    assert time.monotonic() - start >= 1


def test_a_model_that_is_being_loaded_is_waited_for(server: Server) -> None:
    loading = {"status": 503, "error": {"message": "Loading model", "code": 503}}
    server.plan(loading, loading, loading, loading, {"text": "loaded"})
    (done,) = ServerModel(server.url, settings(patience=0.2)).complete(prompt())
    assert done.text == "loaded"


def of(owner: str, **more: object) -> dict[str, object]:
    return {"data": [{"id": "m", "owned_by": owner, **more}]}


THINKS = "{% if enable_thinking %}<think>{% endif %}{{ messages[0].content }}</think>"
#: A llama-server that gives three answers at a time.
OF_THREE: dict[str, object] = {
    "__v1__models": of("llamacpp", meta={"n_ctx": 4096}),
    "__props": {"total_slots": 3, "chat_template": THINKS},
}
ABOUT: dict[str, tuple[dict[str, object], int]] = {
    "llama-server": (
        {
            "__v1__models": of("llamacpp", meta={"n_ctx": 99_000}),
            "__props": {"default_generation_settings": {"n_ctx": 6144}, "chat_template": THINKS},
        },
        6144 - 512,
    ),
    "ollama, loaded": (
        {
            "__v1__models": of("library"),
            "__api__show": {"capabilities": ["completion", "thinking"], "parameters": "num_ctx 9"},
            "__api__ps": {"models": [{"name": "m", "context_length": 32_768}]},
        },
        32_768 - 512,
    ),
    "ollama, not loaded": (
        {
            "__v1__models": of("library"),
            "__api__show": {"capabilities": ["completion"], "parameters": "stop a\nnum_ctx   7000"},
            "__api__ps": {"models": []},
        },
        16_384,
    ),
    "ollama, of a person": (
        {
            "__v1__models": of("unsloth"),
            "__api__version": {"version": "0.20.1"},
            "__api__show": {"model_info": {"qwen3.context_length": 8192}},
            "__api__ps": {},
        },
        8192,
    ),
    "lm studio": (
        {
            "__v1__models": of("organization_owner"),
            "__api__v0__models": {"data": [{"id": "m", "loaded_context_length": 5000}]},
        },
        5000,
    ),
    "vllm": ({"__v1__models": of("vllm", max_model_len=32_768)}, 32_768),
    "another": ({"__v1__models": of("me", context_window=12_000)}, 12_000),
    "silent": ({"__v1__models": of("me")}, 16_384),
}


@pytest.mark.parametrize("name", ABOUT)
def test_the_context_is_what_the_server_says(server: Server, name: str) -> None:
    told, context = ABOUT[name]
    server.about(**told)
    model = ServerModel(server.url, settings(context=0))
    assert model.context == context
    assert bool(model.notes) == (name == "silent")


def tokens(asked: dict[str, Any]) -> int:
    """Return how long an answer may be."""
    return int(asked["options"]["num_predict"] if "options" in asked else asked["max_tokens"])


def test_thinking_is_switched_in_the_way_of_each_server(server: Server) -> None:
    ways = []
    for name in ("llama-server", "ollama, loaded", "vllm"):
        server.about(**ABOUT[name][0])
        ServerModel(server.url, settings()).complete(prompt(weighty=True))
        ServerModel(server.url, settings()).complete(prompt())
        on, off = server.asked()[-2:]
        bound = prompt(weighty=True, grammar=choice_grammar("hello"))
        ServerModel(server.url, settings()).complete(bound)
        assert tokens(server.asked()[-1]) == tokens(off)
        keys = ("chat_template_kwargs", "think", "reasoning_budget_tokens")
        ways.append([{key: asked.get(key) for key in keys if key in asked} for asked in (on, off)])
        assert tokens(on) - tokens(off) == (0 if name == "vllm" else 512)
    switched = [
        {"enable_thinking": on, "thinking": on, "reasoning_effort": "low"} for on in (True, False)
    ]
    llama = [
        {"chat_template_kwargs": switched[0], "reasoning_budget_tokens": 512},
        {"chat_template_kwargs": switched[1], "reasoning_budget_tokens": 0},
    ]
    ollama = [{"think": True}, {"think": False}]
    # vLLM does not say whether its model thinks.
    assert ways == [llama, ollama, [{"chat_template_kwargs": switched[1]}] * 2]


KEEPS = THINKS + "{% if preserve_thinking %}{{ messages[0].reasoning_content }}{% endif %}"


@pytest.mark.parametrize(("template", "kept"), [(KEEPS, True), (THINKS, False)])
def test_thoughts_go_back_where_the_template_wants_them(
    server: Server, template: str, kept: bool
) -> None:
    server.about(__v1__models=of("llamacpp"), __props={"chat_template": template})
    server.plan({"message": {"content": "yes", "reasoning_content": "hm"}})
    model = ServerModel(server.url, settings())
    (done,) = model.complete(prompt())
    again = (Message(role=Role.ASSISTANT, text=done.text), Message(role=Role.USER, text="why?"))
    model.complete(Prompt(messages=(*prompt().messages, *again)))
    second = server.asked()[-1]
    assert second["messages"][1].get("reasoning_content") == ("hm" if kept else None)
    assert second["chat_template_kwargs"].get("preserve_thinking") == (True if kept else None)


def test_ollama_gets_thoughts_back(server: Server) -> None:
    told = ABOUT["ollama, loaded"][0]
    server.about(**told)
    server.plan({"message": {"content": "yes", "thinking": "hm"}})
    model = ServerModel(server.url, settings())
    (done,) = model.complete(prompt())
    again = (Message(role=Role.ASSISTANT, text=done.text), Message(role=Role.USER, text="why?"))
    model.complete(Prompt(messages=(*prompt().messages, *again)))
    assert server.asked()[-1]["messages"][1]["thinking"] == "hm"


def test_a_model_of_ollama_is_known_by_its_digest(server: Server) -> None:
    told = ABOUT["ollama, not loaded"][0]
    server.about(**told, __api__tags={"models": [{"name": "m:latest", "digest": "abc"}]})
    assert ServerModel(server.url, settings(context=0)).identity == ("abc", "16384", "0")
    server.about(**told)
    assert ServerModel(server.url, settings(context=0)).identity == ()


def test_a_model_that_only_thought_says_so(server: Server) -> None:
    server.plan({"message": {"content": "", "reasoning": "hm, well"}, "finish": "length"})
    model = ServerModel(server.url, settings())
    (done,) = model.complete(prompt())
    assert done.thinking == "hm, well"
    assert model.notes == done.notes == (OnlyThought(characters=8),)


@pytest.mark.parametrize("most", [99, 2])
def test_several_answers_are_one_request_where_the_server_can(server: Server, most: int) -> None:
    server.about(**ABOUT["vllm"][0])
    server.plan({"text": "x", "most": most})
    model = ServerModel(server.url, settings())
    done = model.complete(prompt(samples=5))
    assert [d.text for d in done] == ["x"] * 5
    assert [d.seed for d in done] == list(range(5))
    assert [asked.get("n", 1) for asked in server.asked()] == ([5] if most > 5 else [5, 1, 1, 1])


def test_header_and_code(server: Server) -> None:
    text = (
        "Let me fix it.\n"
        '{"action": "edit", "path": "t.py", "block": 1, "thought": "x"}\n\n'
        "```py\nassert `1`\n```\nDone."
    )
    server.plan({"text": text})
    grammar = grammar_for(*AGENT)
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar))
    reply = read_reply(done.text, Cat, Edit)
    assert reply.header == Edit(thought="x", path="t.py", block=1)
    assert reply.blocks == ("assert `1`\n",)
    assert "grammar" in server.asked()[0]


def test_reasoning_in_a_field_of_its_own_and_parts(server: Server) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    server.plan({"message": {"content": parts, "reasoning_content": "why"}})
    (done,) = ServerModel(server.url, settings()).complete(prompt())
    assert (done.text, done.thinking) == ("ab", "why")
    server.plan({"message": {"content": None}})
    assert ServerModel(server.url, settings()).complete(prompt())[0].text == ""


def test_a_prompt_that_the_server_cut_is_noticed(server: Server) -> None:
    server.plan({"text": "ok", "usage": {"prompt_tokens": 2048, "completion_tokens": 1}})
    (done,) = ServerModel(server.url, settings()).complete(prompt("word " * 10_000))
    assert done.notes == (PromptCut(counted=2048, size=50_000),)


def test_counts_are_learned_but_stay_on_the_safe_side(server: Server) -> None:
    model = ServerModel(server.url, settings())
    before = model.count("x" * 300)
    server.plan({"text": "ok", "usage": {"prompt_tokens": 5000, "completion_tokens": 1}})
    model.complete(prompt("é" * 5000))
    assert model.count("x" * 300) > before


def test_every_reply_of_any_kind_is_answered(server: Server) -> None:
    model = ServerModel(server.url, settings())
    for text in ("", "{", "```", "\ud800", "\x00", '{"a": {"b": []}}', "[]", "null", "}{"):
        server.plan({"text": text})
        (done,) = model.complete(prompt(grammar=grammar_for(*AGENT)))
        assert done.text == text
