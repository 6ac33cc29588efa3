"""Asks a model on this machine through ``POST /v1/chat/completions``.

llama-server, Ollama, LM Studio and vLLM answer that. They differ in what they make of a JSON
schema, of ``n`` and of seeds: what a server refuses is left out, and replies are read leniently.
There are no proxies, no redirects and no endless answers.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

from pytest_brt.errors import ModelProblem, OutOfTime, Overflowed
from pytest_brt.model.request import Reply, Request, estimate
from pytest_brt.types import Cost

#: Fields that a request can do without.
_OPTIONAL = ("chat_template_kwargs", "response_format", "top_k", "min_p", "n", "seed")
#: Seconds for one answer, for what a server says of itself, and after each of its failures: it may
#: be starting again.
_LONGEST, _ASKING, _PAUSES = 3600.0, 10.0, (0.1, 0.4, 1.0, 2.0, 4.0, 6.0, 6.0)
#: Bytes of the longest answer, and requests at a time.
_BYTES, _AT_ONCE = 32 << 20, 8
#: Tokens of context that are assumed where no server says it.
_CONTEXT = 16_384
#: A prompt that a server counts as less than this share of our low estimate was cut by it; where
#: it counts less than so many tokens it does not count.
_CUT, _COUNTED = 0.35, 256
_TOO_LONG = re.compile(
    r"context.{0,12}(?:length|size|window)|too long|exceed\w* .*tokens", re.I
)
_THOUGHTS = re.compile(r"\A(?:(?:<think>)?.*?</think>|<think>.*)\s*", re.DOTALL)
#: What an answer in another form than the protocol's raises.
_NONSENSE = (
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
)
_HINTS = {
    401: " (set PYTEST_BRT_SERVER_KEY)",
    404: " (is that one of its models? see 'pytest-brt models')",
}


class Unreachable(ModelProblem):
    """Nobody listens at an address, the connection broke, or the server fails for now."""


class Server:
    """One model behind a server on this machine; safe to use from many threads."""

    #: Replies in one request.
    slots = 64

    def __init__(
        self, url: str, *, key: str = "", name: str = "", context: int = 0
    ) -> None:
        """Take an address such as "http://127.0.0.1:8080/v1"; connects when first asked.

        Raises:
            ModelProblem: it is not on this machine.
        """
        try:
            parts = urlsplit(url)
            self.host = (parts.hostname or "").replace("localhost", "127.0.0.1")
            self.port = parts.port or 80
            is_here = parts.scheme == "http" and ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            is_here = False
        if not is_here:
            raise ModelProblem(
                f"--brt-model: {url!r} is not an http address of this machine (reach another one "
                "through a forwarded port: ssh -L 8080:localhost:8080 HOST)"
            )
        self.url = f"http://{self.host}:{self.port}"
        self._path = parts.path.rstrip("/") or "/v1"
        self.key = key
        #: What the server calls the model; "" until it is asked, where it has only one.
        self.name = name
        #: Tokens of prompt and reply together; 0 until it is asked.
        self.context = context
        #: Seconds to wait after each failure in a row, before the server is given up.
        self.pauses: tuple[float, ...] = _PAUSES
        #: Fields that it refused, and "n" where it gives one reply whatever is asked for.
        self.refused: set[str] = set()
        #: Whether it was asked for them, and whether nobody is to be asked any more.
        self.is_known = self.is_closed = False
        self._open: set[http.client.HTTPConnection] = set()

    def models(self) -> dict[str, tuple[int, int]]:
        """Return the context of each model, and the one that it was trained for; 0 for unknown.

        Raises:
            ModelProblem: nobody answers, or somebody else.
        """
        status, text = self.send("/models", _ASKING)
        try:
            return {str(row["id"]): _sizes(row) for row in json.loads(text)["data"]}
        except _NONSENSE as error:
            raise ModelProblem(
                f"--brt-model: {self.url} is not an OpenAI-compatible server (it answers {status}: "
                f"{_start(text)})"
            ) from error

    def open(self) -> None:
        """Ask once which model there is, and how much context it has.

        Raises:
            ModelProblem: nobody answers, or with several models of which none is named.
        """
        if self.is_known:
            return
        known = self.models()
        if not self.name and len(known) != 1:
            raise ModelProblem(
                f"--brt-model: {self.url} has {len(known)} models (name one after a '#': "
                f"{', '.join(known)})"
            )
        self.name = self.name or next(iter(known))
        size, trained = known.get(self.name, (0, 0))
        size = self.context or size or _CONTEXT
        self.context = min(size, trained or size)
        self.is_known = True

    def ask(
        self, request: Request, numbers: Sequence[int], deadline: float
    ) -> Iterator[tuple[list[Reply], Cost]]:
        """Yield the replies to the samples `numbers` of a request, in order, with what they cost.

        They are asked for in one request as far as the server can, else several at a time.

        Raises:
            Overflowed: the prompt does not fit.
            OutOfTime: there is no answer by the `deadline`.
            ModelProblem: the server cannot be reached, or refuses the request.
        """
        left = list(numbers)
        while left and "n" not in self.refused:
            size = min(len(left), self.slots)
            replies, cost = self._replies(request, left[0], size, deadline)
            yield replies, cost
            if len(replies) < size:
                self.refused.add("n")
            left = left[len(replies) :]
        pool = ThreadPoolExecutor(min(_AT_ONCE, self.slots), thread_name_prefix="brt-model")
        try:
            yield from pool.map(
                lambda number: self._replies(request, number, 1, deadline), left
            )
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _replies(
        self, request: Request, first: int, n: int, deadline: float
    ) -> tuple[list[Reply], Cost]:
        begin = time.monotonic()
        one = replace(request, n=n, seed=(request.seed + first) % 2**31)
        text = self._complete(one, deadline)
        try:
            body = json.loads(text)
            usage = body.get("usage") or {}
            replies = [_reply(choice) for choice in body["choices"][:n]]
            first_length = max(1, len(replies[0].text))
            counted, made = (
                int(usage.get(f"{of}_tokens", 0)) for of in ("prompt", "completion")
            )
        except _NONSENSE as error:
            what = f"{self.url}: not a chat completion: {_start(text)}"
            raise ModelProblem(what) from error
        if _COUNTED <= counted < _CUT * estimate(request.messages):
            raise ModelProblem(
                f"{self.url} read only {counted} tokens of a prompt: it cuts prompts to its "
                "context (start it with more, as with OLLAMA_CONTEXT_LENGTH=16384 for Ollama)"
            )
        if "timings" in body:  # llama-server counts the first reply alone
            made = max(
                made, made * sum(len(reply.text) for reply in replies) // first_length
            )
        return replies, Cost(
            calls=1,
            prompt_tokens=counted,
            tokens=made,
            seconds=time.monotonic() - begin,
        )

    def _complete(self, request: Request, deadline: float) -> str:
        """Return the text of a chat completion; who is gone, or fails, is waited for."""
        for pause in self.pauses:
            try:
                return self._post(request, deadline)
            except Unreachable:
                time.sleep(max(0.0, min(pause, deadline - time.monotonic())))
        return self._post(request, deadline)

    def _post(self, request: Request, deadline: float) -> str:
        """Return the text of a chat completion without the fields that the server refuses."""
        self.open()
        fields, left = self._fields(request), deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime(f"no answer from {self.url!r} in time (--brt-budget)")
        status, text = self.send("/chat/completions", min(left, _LONGEST), fields)
        if status == 200:
            return text
        text = text[:2000]  # a refusal is short
        if _TOO_LONG.search(text):
            if status < 500:
                self.context = self.context * 3 // 4
                raise Overflowed(f"the prompt does not fit the model: {_start(text)}")
            if request.n > 1:
                # Its cache has no room for so many at once, as with a window that slides.
                self.slots = 1
                return self._post(replace(request, n=1), deadline)
        named = [
            one for one in _OPTIONAL if one in fields and re.search(rf"\b{one}\b", text)
        ]
        if status in (400, 422) and named:
            self.refused.add(named[0])
            return self._post(request, deadline)
        kind = Unreachable if status == 429 or status >= 500 else ModelProblem
        raise kind(f"{self.url} answers {status}: {_start(text)}{_HINTS.get(status, '')}")

    def _fields(self, request: Request) -> dict[str, object]:
        """Return the fields of a request that the server takes."""
        fields = asdict(request)
        # Nothing but `top_p` is to narrow the choice, whatever the server's own settings are.
        thinking = {"enable_thinking": False}
        fields |= {
            "model": self.name,
            "top_k": 0,
            "min_p": 0,
            "chat_template_kwargs": thinking,
        }
        if schema := fields.pop("schema"):
            schema = {"name": "reply", "strict": True, "schema": json.loads(schema)}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        usual = {"n": 1, "stop": ()}
        left_out = self.refused | {
            name for name, value in usual.items() if fields[name] == value
        }
        return {name: value for name, value in fields.items() if name not in left_out}

    def send(
        self, path: str, seconds: float, body: Mapping[str, object] | None = None
    ) -> tuple[int, str]:
        """Return status and text of the answer to a GET, or with a `body` to a POST.

        Raises:
            OutOfTime: there was none within so many seconds.
            Unreachable: nobody answers.
        """
        connection = http.client.HTTPConnection(
            self.host, self.port, timeout=max(0.1, seconds)
        )
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.key}",
        }
        sent = None if body is None else json.dumps(body).encode()
        # The connection's own limit is one of silence.
        timer = Timer(seconds, _cut, [connection])
        timer.daemon = True
        end = time.monotonic() + seconds
        timer.start()
        self._open.add(connection)
        try:
            if self.is_closed:
                raise ConnectionError("the connection is closed")
            connection.request("POST" if sent else "GET", self._path + path, sent, headers)
            answer = connection.getresponse()
            data = answer.read(_BYTES)
            if answer.length or time.monotonic() >= end:
                raise http.client.IncompleteRead(data, answer.length)
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, TimeoutError) or time.monotonic() >= end:
                late = f"no answer from {self.url!r} within {seconds:.0f} s"
                raise OutOfTime(late) from error
            what = f"no answer from {self.url!r}: {error} (is the server running?)"
            raise Unreachable(what) from error
        finally:
            timer.cancel()
            self._open.discard(connection)
            connection.close()
        return answer.status, data.decode("utf-8", "replace")

    def close(self) -> None:
        """Cut every connection, so that whoever waits for an answer goes on."""
        self.is_closed = True
        for connection in list(self._open):
            _cut(connection)


def _cut(connection: http.client.HTTPConnection) -> None:
    """End a connection, whoever waits for what comes."""
    with suppress(OSError, AttributeError):  # it is not connected, or in this moment not
        connection.sock.shutdown(socket.SHUT_RDWR)


def _sizes(row: dict[str, Any]) -> tuple[int, int]:
    meta = row.get("meta") or {}
    size = row.get("max_model_len") or meta.get("n_ctx") or 0
    return int(size), int(meta.get("n_ctx_train") or 0)


def _reply(choice: dict[str, Any]) -> Reply:
    text = _THOUGHTS.sub("", (choice["message"].get("content") or "").lstrip())
    return Reply(text=text, is_cut=choice.get("finish_reason") == "length")


def _start(text: str) -> str:
    return " ".join(text.split())[:200] or "nothing"
