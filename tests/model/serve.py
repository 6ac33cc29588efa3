"""A server that answers what a test says, as bytes or as a chat completion."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pytest_brt.model.model import Model
from pytest_brt.model.model import open_model as open_spec
from pytest_brt.model.replies import Replies
from pytest_brt.model.request import Message, Request, Usage
from pytest_brt.model.spec import read_spec

#: Returns the status and the body of an answer to a request, or the bytes of one; None hangs.
Answer = Callable[[dict[str, Any]], tuple[int, object] | bytes | None]
MODELS = {"data": [{"id": "m", "meta": {"n_ctx": 8192}}]}


def completion(*texts: str, **more: object) -> tuple[int, object]:
    choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in texts]
    usage = {"prompt_tokens": 10, "completion_tokens": 4 * len(texts)}
    return 200, {"choices": choices, "usage": usage, **more}


@contextmanager
def serving(answer: Answer, models: object = MODELS) -> Iterator[str]:
    """Yield what names a server that asks `answer` for its answers."""
    stop = threading.Event()

    def talk(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as file:
            first = file.readline().split()
            headers = dict(line.split(b": ", 1) for line in iter(file.readline, b"\r\n") if line)
            body = file.read(int(headers.get(b"Content-Length", b"0")))
            if first[:1] == [b"GET"]:
                told: tuple[int, object] | bytes | None = (200, models)
            else:
                told = answer(json.loads(body))
            if told is None:
                stop.wait(30)
            elif isinstance(told, bytes):
                connection.sendall(told)
            else:
                text = json.dumps(told[1]).encode()
                head = f"HTTP/1.1 {told[0]} X\r\nContent-Length: {len(text)}\r\n\r\n"
                connection.sendall(head.encode() + text)

    def accept() -> None:
        while not stop.is_set():
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield f"server:127.0.0.1:{server.getsockname()[1]}"
        stop.set()
        server.shutdown(socket.SHUT_RDWR)


def open_model(text: str, usage: Usage | None = None, replies: Replies | None = None) -> Model:
    return open_spec(read_spec(text), replies or Replies(None)).paid_by(usage or Usage())


def ask(text: str, **settings: Any) -> Request:
    return Request(messages=(Message("user", text),), **settings)
