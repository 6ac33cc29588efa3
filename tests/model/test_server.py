from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Finish, Grammar, Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.grammar import choice_grammar, grammar_for
from pytest_brt.model.reply import read_reply
from pytest_brt.model.server import ServerModel
from tests.model.actions import AGENT, JUDGE, Cat, Edit, Verdict

JUDGED = '{"reproduces": true, "confidence": 80, "why": "it says so"}'


class Server:
    """The process, what it is to do and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.models("one")
        self.plan({"text": "hello"})
        script = Path(__file__).with_name("chat_server.py")
        self.process = subprocess.Popen([sys.executable, str(script), str(folder)])
        while not (folder / "port").exists():
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{(folder / 'port').read_text(encoding='ascii')}"

    def plan(self, *steps: dict[str, object]) -> None:
        (self.folder / "plan.json").write_text(json.dumps(steps), encoding="utf-8")

    def models(self, *names: str) -> None:
        (self.folder / "models.json").write_text(json.dumps(names), encoding="utf-8")

    def asked(self) -> list[dict[str, Any]]:
        lines = (self.folder / "log").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.process.kill()
    running.process.wait()


def prompt(text: str = "hi", **how: Any) -> Prompt:
    return Prompt(messages=(Message(role=Role.USER, text=text),), **how)


def settings(**how: Any) -> Settings:
    return Settings(**{"patience": 1.5, "context": 4096, **how})


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
    assert request["chat_template_kwargs"] == {"enable_thinking": False}


def test_samples_are_asked_for_at_the_same_time(server: Server) -> None:
    server.plan({"seeded": True, "wait": 0.4})
    start = time.monotonic()
    done = ServerModel(server.url, settings()).complete(prompt(samples=8))
    assert [d.text for d in done] == [f"seed {n}" for n in range(8)]
    assert time.monotonic() - start < 8 * 0.4


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
    assert time.monotonic() - start < 10
    assert "\n" not in str(caught.value)


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelProblem, match=r"refused; tried for 0 s \(is the server running"):
        ServerModel(f"http://127.0.0.1:{port}", settings(patience=0.3)).complete(prompt())


@pytest.mark.parametrize("step", [{"wait": 30, "text": "late"}, {"drip": 0.05, "text": "late"}])
def test_a_slow_server_is_cut_off_in_time(server: Server, step: dict[str, object]) -> None:
    server.plan(step)
    start = time.monotonic()
    (done,) = ServerModel(server.url, settings()).complete(prompt(seconds=0.6))
    assert done.finish is Finish.TIME
    assert time.monotonic() - start < 3


def test_close_cuts_what_is_under_way(server: Server) -> None:
    server.plan({"wait": 30})
    model = ServerModel(server.url, settings())
    threading.Timer(0.5, model.close).start()
    start = time.monotonic()
    with pytest.raises(ModelProblem, match="was closed"):
        model.complete(prompt(samples=3))
    assert time.monotonic() - start < 5


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


def test_a_schema_is_sent_and_the_reply_brought_into_form(server: Server) -> None:
    server.plan({"obeys": '{"why":"it says so","reproduces":true,\n"confidence":80}', "text": "?"})
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar_for(*JUDGE)))
    assert done.text == JUDGED
    assert read_reply(done.text, Verdict).header.confidence == 80


def test_a_server_that_ignores_the_schema_is_asked_again(server: Server) -> None:
    server.plan({"text": "I think so!"}, {"text": f"Here you are:\n```json\n{JUDGED}\n```"})
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar_for(*JUDGE)))
    assert done.text == JUDGED
    assert done.seed == 0
    again = server.asked()[1]
    assert again["messages"][1]["content"] == "I think so!"
    assert "JSON schema" in again["messages"][2]["content"]


def test_a_server_that_never_obeys_is_reported(server: Server) -> None:
    server.plan({"text": '{"reproduces": true, "confidence": 800, "why": ""}'})
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar_for(*JUDGE)))
    assert "form asked for, in 3 tries" in done.notes[0]
    assert len(server.asked()) == 3


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
    with pytest.raises(ModelProblem, match=r"refuses the prompt: 401 .*no, sorry"):
        ServerModel(server.url, settings()).complete(prompt())
    server.plan({"status": 400})
    with pytest.raises(ModelProblem, match="refuses the prompt: 400"):
        ServerModel(server.url, settings()).complete(prompt())


def test_header_and_code(server: Server) -> None:
    text = (
        "Let me fix it.\n"
        '{"action": "edit", "path": "t.py", "block": 1, "thought": "x"}\n\n'
        "```py\nassert `1`\n```\nDone."
    )
    server.plan({"text": text})
    grammar = grammar_for(*AGENT, lead=("thought",))
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar))
    reply = read_reply(done.text, Cat, Edit)
    assert reply.header == Edit(thought="x", path="t.py", block=1)
    assert reply.blocks == ("assert `1`\n",)
    assert "grammar" in server.asked()[0]


def test_optional_fields_may_be_left_out(server: Server) -> None:
    server.plan({"text": '{"thought": "", "action": "cat", "path": "a"}'})
    grammar = grammar_for(*AGENT, lead=("thought",))
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar))
    assert done.text == '{"thought": "", "action": "cat", "path": "a", "lines": null}'


@pytest.mark.parametrize(("said", "meant"), [("yes", "yes"), (" **No**.\n", "no")])
def test_a_choice(server: Server, said: str, meant: str) -> None:
    server.plan({"text": said})
    grammar = choice_grammar(["yes", "no", "No"])
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar))
    assert done.text.lower() == meant


def test_a_cut_answer_is_not_checked(server: Server) -> None:
    server.plan({"text": '{"repro', "finish": "length"})
    (done,) = ServerModel(server.url, settings()).complete(prompt(grammar=grammar_for(*JUDGE)))
    assert (done.text, done.finish) == ('{"repro', Finish.LENGTH)


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
    assert "probably cut it" in done.notes[0]


def test_counts_are_learned_but_stay_on_the_safe_side(server: Server) -> None:
    model = ServerModel(server.url, settings())
    before = model.count(["x" * 300])[0]
    server.plan({"text": "ok", "usage": {"prompt_tokens": 5000, "completion_tokens": 1}})
    model.complete(prompt("é" * 5000))
    assert model.count(["x" * 300])[0] > before


def test_the_grammar_of_others_that_cannot_be_checked_is_said_so(server: Server) -> None:
    grammar = Grammar(gbnf='root ::= "a" root | "b"')
    with pytest.raises(ModelProblem, match="refers to itself"):
        ServerModel(server.url, settings()).complete(prompt(grammar=grammar))


def test_every_reply_of_any_kind_is_answered(server: Server) -> None:
    check: Callable[[str], None] = lambda text: server.plan({"text": text})  # noqa: E731
    model = ServerModel(server.url, settings())
    for text in ("", "{", "```", "\ud800", "\x00", '{"a": {"b": []}}', "[]", "null", "}{"):
        check(text)
        (done,) = model.complete(prompt(grammar=grammar_for(*AGENT, lead=("thought",))))
        assert done.notes
