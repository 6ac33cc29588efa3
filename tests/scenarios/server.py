"""A model that follows a script: a server on loopback that speaks OpenAI's chat completions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: What the model says when its script is at an end.
NOTHING = "I have nothing more to say."
#: Decides about one property of a JSON object that is asked for: its value by its name.
Answers = Mapping[str, str]


class Model:
    """Plays replies in order, and notes what it was asked."""

    def __init__(self, replies: Sequence[str], *, always: str = NOTHING, judge: Answers) -> None:
        self.replies = list(replies)
        self.always = always
        self.judge = judge
        self.requests: list[dict[str, Any]] = []
        #: Called with each request before it is answered; what it returns is a refusal.
        self.refuse: Callable[[dict[str, Any]], str | None] = lambda request: None
        self.port = 0
        self._lock = threading.Lock()

    @property
    def option(self) -> str:
        """What names this model on the command line."""
        return f"--brt-model=server:http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[str]:
        """The texts of all requests."""
        return [
            "\n".join(message["content"] for message in request["messages"])
            for request in self.requests
        ]

    def complete(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the body of the answer to a request."""
        with self._lock:
            self.requests.append(request)
        refusal = self.refuse(request)
        if refusal is not None:
            return 400, {"error": {"message": refusal, "code": 400}}
        schema = request.get("response_format", {}).get("json_schema", {}).get("schema", {})
        choices = []
        for number in range(request.get("n", 1)):
            with self._lock:
                text = self._judged(schema) or (self.replies or [self.always])[0]
                del self.replies[: 0 if schema and self._judged(schema) else 1]
            message = {"role": "assistant", "content": text}
            choices.append({"index": number, "finish_reason": "stop", "message": message})
        usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
        return 200, {"object": "chat.completion", "choices": choices, "usage": usage}

    def _judged(self, schema: Mapping[str, Any]) -> str:
        """Return the object that a question about a test wants, "" where it wants none."""
        names = schema.get("properties", {})
        answers = {
            name: value
            for name in names
            for start, value in self.judge.items()
            if name.startswith(start)
        }
        return json.dumps(answers) if names and len(answers) == len(names) else ""


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    """Answer for a model as long as this lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, {"object": "list", "data": [{"id": "script", "object": "model"}]})

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            self._send(*model.complete(json.loads(self.rfile.read(length))))

        def _send(self, status: int, body: object) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    with Server(("127.0.0.1", 0), Handler) as server:
        model.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield model
        server.shutdown()
        thread.join()
