"""Asks a model on this machine through ``POST /v1/chat/completions``.

llama-server, Ollama, LM Studio and vLLM answer that. They differ in what they make of a JSON
schema, of ``n`` and of seeds: what a server refuses is left out, and replies are read leniently.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_brt.errors import ModelProblem, OutOfTime, Overflowed
from pytest_brt.model.http import Loopback, Response, Unreachable
from pytest_brt.model.request import Reply, Request, estimate
from pytest_brt.types import Cost

#: Fields that a request can do without.
_OPTIONAL = ("chat_template_kwargs", "response_format", "top_k", "n", "seed")
#: Seconds for one answer, for what a server says of itself, and for which one may be gone: it may
#: be starting again.
_LONGEST, _ASKING, _RESTARTING = 3600.0, 10.0, 20.0
#: Requests at a time, and answers that are errors before a server is given up.
_AT_ONCE, _FAILURES = 8, 3
#: Tokens of context that are assumed where no server says it.
_CONTEXT = 16_384
#: A prompt that a server counts as less than this share of our low estimate was cut by it; where
#: it counts less than so many tokens it does not count.
_CUT, _COUNTED = 0.35, 256
_TOO_LONG = re.compile(r"context.{0,12}(?:length|size|window)|too long|exceed\w* .*tokens", re.I)
_THOUGHTS = re.compile(r"\A\s*(?:(?:<think>)?.*?</think>|<think>.*)\s*", re.DOTALL)
_HINTS = {
    401: " (set PYTEST_BRT_SERVER_KEY)",
    404: " (is that one of its models? see 'pytest-brt models')",
}


@dataclass
class Server:
    """One model behind a server; safe to use from many threads."""

    address: Loopback
    #: What the server calls it; "" until it is asked, where it has only one.
    name: str = ""
    #: Tokens of prompt and reply together; 0 until it is asked.
    context: int = 0
    #: Replies in one request.
    slots: int = 64
    #: Seconds for which it may be gone once it has answered.
    patience: float = _RESTARTING
    #: Fields that it refused, and "n" where it gives one reply whatever is asked for.
    refused: set[str] = field(default_factory=set)
    _is_known: bool = False

    def models(self) -> list[dict[str, Any]]:
        """Return what the server tells of its models.

        Raises:
            ModelProblem: nobody answers, or somebody else.
        """
        response = self._patient("/models", None, time.monotonic() + _ASKING)
        rows = response.body.get("data")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ModelProblem(
                f"--brt-model: {self.address.url} is not an OpenAI-compatible server (it answers "
                f"{response})"
            )
        return [row for row in rows if "id" in row]

    def open(self) -> None:
        """Ask once which model there is, and how much context it has.

        Raises:
            ModelProblem: nobody answers, or with several models of which none is named.
        """
        if self._is_known:
            return
        known = {str(row["id"]): row for row in self.models()}
        if not self.name and len(known) != 1:
            raise ModelProblem(
                f"--brt-model: {self.address.url} has {len(known)} models (name one after a '#': "
                f"{', '.join(known)})"
            )
        self.name = self.name or next(iter(known))
        row = known.get(self.name, {})
        size = row.get("max_model_len") or (row.get("meta") or {}).get("n_ctx") or _CONTEXT
        self.context = self.context or int(size)
        self._is_known = True

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
            yield from pool.map(lambda number: self._replies(request, number, 1, deadline), left)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _replies(
        self, request: Request, first: int, n: int, deadline: float
    ) -> tuple[list[Reply], Cost]:
        """Return `n` replies from sample number `first` on, and what they cost."""
        begin = time.monotonic()
        one = replace(request, n=n, seed=(request.seed + first) % 2**31)
        response = self._patient("/chat/completions", one, deadline)
        replies = []
        for choice in response.body.get("choices") or ():
            text = str((choice.get("message") or {}).get("content") or "")
            is_cut = choice.get("finish_reason") == "length"
            replies.append(Reply(text=_THOUGHTS.sub("", text), is_cut=is_cut))
        if not replies:
            raise ModelProblem(f"{self.address.url}: not a chat completion: {response}")
        usage = response.body.get("usage") or {}
        counted, made = (int(usage.get(f"{part}_tokens") or 0) for part in ("prompt", "completion"))
        if _COUNTED <= counted < _CUT * estimate(request.messages):
            raise ModelProblem(
                f"{self.address.url} read only {counted} tokens of a prompt: it cuts prompts to "
                "its context (start it with more, as with OLLAMA_CONTEXT_LENGTH=16384 for Ollama)"
            )
        if "timings" in response.body:  # llama-server counts the first reply alone
            lengths = [len(reply.text) for reply in replies]
            made = max(made, made * sum(lengths) // max(1, lengths[0]))
        cached = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
        return replies, Cost(
            calls=1,
            prompt_tokens=counted,
            evaluated=max(0, counted - cached),
            tokens=made,
            seconds=time.monotonic() - begin,
        )

    # -- one question --

    def _patient(self, path: str, request: Request | None, deadline: float) -> Response:
        """Ask until there is an answer: wait while nobody listens, leave out what is refused."""
        failures, lost, pause = 0, 0.0, 0.1
        while True:
            fields = None if request is None else self._fields(request)
            left = deadline - time.monotonic()
            if left <= 0:
                raise OutOfTime(f"no answer from {self.address.url!r} in time (--brt-budget)")
            try:
                response = self.address.ask(self.address.path + path, min(left, _LONGEST), fields)
            except Unreachable as error:
                lost = lost or time.monotonic()
                if time.monotonic() + pause > lost + self.patience * self._is_known:
                    raise Unreachable(f"{error} (is the server running?)") from error
            else:
                if response.status == 200:
                    return response
                failures += self._bear(response, fields or {}, failures)
                lost = 0.0
            time.sleep(min(pause, left))
            pause = min(2 * pause, 2.0)

    def _fields(self, request: Request) -> dict[str, object]:
        """Return the fields of a request that the server takes."""
        fields = asdict(request)
        fields |= {"model": self.name, "chat_template_kwargs": {"enable_thinking": False}}
        if schema := fields.pop("schema"):
            schema = {"name": "reply", "strict": True, "schema": json.loads(schema)}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        usual = {"n": 1, "stop": ()}
        left_out = self.refused | {name for name, value in usual.items() if fields[name] == value}
        return {name: value for name, value in fields.items() if name not in left_out}

    def _bear(self, response: Response, fields: dict[str, object], failures: int) -> int:
        """Return how much of a failure an error is: 0 for one that another request avoids.

        Raises:
            Overflowed: the prompt is too long; the context is known better then.
            ModelProblem: asking again is of no use.
        """
        status, text = response.status, response.text
        if status < 500 and _TOO_LONG.search(text):
            self.context = self.context * 3 // 4
            raise Overflowed(f"the prompt does not fit the model: {response}")
        named = [name for name in _OPTIONAL if name in fields and re.search(rf"\b{name}\b", text)]
        if status in (400, 422) and named:
            self.refused.add(named[0])
            return 0
        if status == 503 and "load" in text.lower():
            return 0  # it loads the model
        if (status == 429 or status >= 500) and failures + 1 < _FAILURES:
            return 1
        hint = _HINTS.get(status, "")
        raise ModelProblem(f"{self.address.url} answers {status}: {response}{hint}")
