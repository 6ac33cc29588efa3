"""CPU time per token of a model file through this package, and of what runs it, called directly.

    python bench/model.py FILE.gguf

Sixteen answers of 48 tokens to one prompt, free and held to a JSON form, by each engine that is
installed. The last column is the ratio to the engine called directly.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_brt.model.child import Child, engines
from pytest_brt.model.client import Server
from pytest_brt.model.model import open_model
from pytest_brt.model.replies import Replies
from pytest_brt.model.request import Message, Request, Usage
from pytest_brt.model.spec import read_spec

ANSWERS, TOKENS, CONTEXT = 16, 48, 4096
PROMPT = "def clamp(value, low, high):\n    return max(low, min(value, low))\n\n" * 16
_WORDS = {"type": "string", "maxLength": 400}
#: How a token is chosen, as `Model` has it: of the whole vocabulary.
_SAMPLING = {"temperature": 0.7, "top_p": 0.95, "top_k": 0, "min_p": 0}
_FORM = json.dumps(
    {"type": "object", "properties": {"words": _WORDS}, "required": ["words"]}
)


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process of ours and of those that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def started(server: Server | None) -> int:
    """Start a private server and return the id of its process."""
    assert isinstance(server, Child)
    server.open()
    assert server.process is not None
    return server.process.pid


def count_tokens(server: Server, texts: Sequence[str]) -> int:
    """Return how many tokens some replies have: llama-server tells it of the first alone."""
    connection = http.client.HTTPConnection(server.host, server.port)
    headers = {
        "Authorization": f"Bearer {server.key}",
        "Content-Type": "application/json",
    }
    tokens = 0
    for text in texts:
        connection.request("POST", "/tokenize", json.dumps({"content": text}), headers)
        tokens += len(json.loads(connection.getresponse().read())["tokens"])
    return tokens


def ours(path: str, engine: str, schema: str) -> float:
    """Return the CPU seconds per token of answers through `Model`."""
    spec, usage = read_spec(f"gguf:{path},engine={engine},context={CONTEXT}"), Usage()
    model = open_model(spec, Replies(None)).paid_by(usage)
    pid = started(model.server)
    begin = cpu_of(pid) + time.process_time()
    message = Message("user", PROMPT)
    replies = model.complete(
        Request(messages=(message,), n=ANSWERS, max_tokens=TOKENS, schema=schema)
    )
    spent = cpu_of(pid) + time.process_time() - begin
    tokens = usage.cost.tokens
    if model.server and engine == "llama-server":
        tokens = count_tokens(model.server, [reply.text for reply in replies])
    model.close()
    return spent / tokens


def server(path: str, schema: str) -> float:
    """Return the same of a llama-server that is asked once for every eight answers."""
    child = Child(Path(path), CONTEXT, "llama-server")
    pid = started(child)
    body: dict[str, object] = {
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": TOKENS,
        "n": 8,
        **_SAMPLING,
    }
    if schema:
        form = {"name": "reply", "schema": json.loads(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    begin, texts = cpu_of(pid), []
    for number in range(0, ANSWERS, 8):  # the same answers
        _, text = child.send("/chat/completions", 3600, body | {"seed": number})
        texts += [one["message"]["content"] for one in json.loads(text)["choices"]]
    spent = cpu_of(pid) - begin
    tokens = count_tokens(child, texts)
    child.close()
    return spent / tokens


def package(path: str, schema: str) -> float:
    """Return the same of llama-cpp-python in this process."""
    llama: Any = import_module("llama_cpp").Llama(path, n_ctx=CONTEXT, verbose=False)
    form = {"type": "json_object", "schema": json.loads(schema)} if schema else None
    begin, tokens = time.process_time(), 0
    for seed in range(ANSWERS):
        told = llama.create_chat_completion(
            messages=[{"role": "user", "content": PROMPT}],
            max_tokens=TOKENS,
            seed=seed,
            response_format=form,
            **_SAMPLING,
        )
        tokens += told["usage"]["completion_tokens"]
    return (time.process_time() - begin) / tokens


DIRECT: dict[str, Callable[[str, str], float]] = {
    "llama-server": server,
    "llama-cpp-python": package,
}


def main(path: str) -> None:
    """Print a line for each engine and form."""
    for engine in engines():
        for name, schema in (("free", ""), ("JSON", _FORM)):
            here, there = ours(path, engine, schema), DIRECT[engine](path, schema)
            times = "  ".join(f"{seconds * 1000:6.1f} ms" for seconds in (here, there))
            print(f"{engine:<17} {name}  {times}  {here / there:.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
