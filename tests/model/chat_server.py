"""A server that speaks chat completions and misbehaves as a plan says; run as a process.

chat_server.py FOLDER PORT: writes its port, a free one for 0, to FOLDER/port; takes the next step
of the JSON list in FOLDER/plan.json for each chat request (the last one for ever); appends each
request to FOLDER/log.
FOLDER/about.json holds what it answers elsewhere: path → JSON; "/v1/models" else lists models.json.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1]) if __name__ == "__main__" else Path()
LOCK = threading.Lock()
#: Where those wait for each other that are to be asked at the same time.
TOGETHER = threading.Barrier(8, timeout=60)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(
        self, status: int, body: bytes, *, announce: int | None = None, wait: int | None = None
    ) -> None:
        self.send_response(status)
        if wait is not None:
            self.send_header("Retry-After", str(wait))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if announce is None else announce))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.told():
            return
        names = json.loads((FOLDER / "models.json").read_text(encoding="utf-8"))
        data = [{"id": name, "object": "model"} for name in names]
        self.answer(200, json.dumps({"object": "list", "data": data}).encode())

    def told(self) -> bool:
        """Answer what the file says of this path, when it says something."""
        about = FOLDER / "about.json"
        told = json.loads(about.read_text(encoding="utf-8")) if about.exists() else {}
        if self.path not in told:
            return False
        self.answer(200, json.dumps(told[self.path]).encode())
        return True

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.told():
            return
        request["asked_at"] = self.path
        request["authorization"] = self.headers.get("Authorization", "")
        with LOCK:
            with (FOLDER / "log").open("a", encoding="utf-8") as log:
                log.write(json.dumps(request) + "\n")
            plan = json.loads((FOLDER / "plan.json").read_text(encoding="utf-8"))
            step = plan[0]
            if len(plan) > 1:
                (FOLDER / "plan.json").write_text(json.dumps(plan[1:]), encoding="utf-8")
        self.behave(request, step)

    def behave(self, request: dict[str, Any], step: dict[str, Any]) -> None:
        if step.get("die"):
            os._exit(1)
        if step.get("drop"):
            self.close_connection = True
            self.connection.close()
            return
        time.sleep(step.get("wait", 0))
        if step.get("together"):
            TOGETHER.wait()
        if "redirect" in step:
            self.send_response(302)
            self.send_header("Location", step["redirect"])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if step.get("refuses") in request:
            text = f"Unknown field: {step['refuses']}"
            self.answer(400, json.dumps({"error": {"message": text}}).encode())
            return
        if "status" in step:
            error = json.dumps({"error": step.get("error", {"message": "no, sorry"})})
            page = step.get("page", error)
            self.answer(step["status"], page.encode(), wait=step.get("after"))
            return
        text = step.get("text", "")
        if step.get("obeys") and "response_format" in request:
            text = step["obeys"]
        if step.get("seeded"):
            text = f"seed {request['seed']}"
        message = {"role": "assistant", "content": text, **step.get("message", {})}
        if self.path == "/api/chat":
            self.answer(200, json.dumps(as_ollama(message, step)).encode())
            return
        choice = {"index": 0, "finish_reason": step.get("finish", "stop"), "message": message}
        choices = [choice] * min(request.get("n", 1), step.get("most", 99))
        usage = step.get("usage", {"prompt_tokens": 7, "completion_tokens": 3})
        body = json.dumps({"choices": choices, "usage": usage}).encode()
        body = step["body"].encode() if "body" in step else body
        if step.get("half"):
            self.answer(200, body[: len(body) // 2], announce=len(body))
            self.close_connection = True
            return
        if step.get("drip"):
            self.answer(200, b"", announce=len(body))
            for byte in body:
                time.sleep(step["drip"])
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
            return
        self.answer(200, body)

    def log_message(self, *_: object) -> None:
        pass

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # the client has gone
            super().handle()


def as_ollama(message: dict[str, Any], step: dict[str, Any]) -> dict[str, Any]:
    """Return an answer in the shape of Ollama's own API."""
    usage = step.get("usage", {"prompt_tokens": 7, "completion_tokens": 3})
    return {
        "message": message,
        "done": True,
        "done_reason": step.get("finish", "stop"),
        "prompt_eval_count": usage["prompt_tokens"],
        "eval_count": usage["completion_tokens"],
    }


class Server(ThreadingHTTPServer):
    #: More than ask at a time: whoever finds no room tries again no sooner than in a second.
    request_queue_size = 64


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[2])), Handler)
    (FOLDER / "port.part").write_text(str(server.server_port), encoding="ascii")
    (FOLDER / "port.part").rename(FOLDER / "port")
    server.serve_forever()
