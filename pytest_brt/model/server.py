"""Answers by a server on this machine that speaks OpenAI's chat completions.

llama-server, Ollama, LM Studio and vLLM do. They differ in what they make of a schema: some
enforce it, some refuse the field, some ignore it in silence. So every reply is checked here, and
brought into the form that was asked for where only its dress is wrong.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Completion, Finish, Message, Prompt, Role, Settings
from pytest_brt.model.estimate import estimate_all, estimate_prompt
from pytest_brt.model.loopback import Loopback, Response, TooLate, Unreachable
from pytest_brt.model.pattern import as_grammar_has_it
from pytest_brt.model.thoughts import split_thinking

#: Seconds for one answer when the prompt sets no limit.
_LONGEST = 3600.0
#: Requests at the same time.
_AT_ONCE = 8
#: Times a reply of the wrong form is asked for again.
_TRIES = 3
_CONTEXT = 8192
#: A prompt that the server counts below this share of our low estimate was cut by it.
_CUT_BELOW = 0.35


class ServerModel:
    """Asks a server on loopback."""

    exact = False

    def __init__(self, url: str, settings: Settings) -> None:
        """Take `url`, as in "http://127.0.0.1:11434#name-of-the-model"; connects later.

        Raises:
            ModelProblem: the URL is not one of this machine.
        """
        address, _, self.chosen = url.partition("#")
        key = os.environ.get("PYTEST_BRT_SERVER_KEY", "")
        self.server = Loopback(address, {"Authorization": f"Bearer {key}"} if key else None)
        self.base = self.server.prefix or "/v1"
        self.name = f"server:{self.server.url}" + (f"#{self.chosen}" if self.chosen else "")
        self.context = settings.context or _CONTEXT
        self.notes: tuple[str, ...] = (
            ()
            if settings.context
            else (f"context taken as {_CONTEXT} tokens (the server's own: --brt-context N)",)
        )
        self.patience = settings.patience
        self._at_once = settings.lanes or _AT_ONCE
        #: Fields that this server refused, left out from then on.
        self._refused: set[str] = set()
        self._lock = threading.Lock()
        self._model = self.chosen
        #: Learned from what the server counts; never above the estimate's own.
        self._bytes_per_token = 3.0

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the answers, asked for at the same time.

        Raises:
            ModelProblem: the server cannot be reached, or refuses the prompt.
        """
        self._find_model()
        numbers = range(prompt.samples)
        if prompt.samples == 1:
            return (self._sample(prompt, 0),)
        pool = ThreadPoolExecutor(min(self._at_once, prompt.samples))
        try:
            return tuple(pool.map(lambda number: self._sample(prompt, number), numbers))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def count(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Return an estimate of the tokens of each of `texts`."""
        return estimate_all(texts, self._bytes_per_token)

    def measure(self, prompt: Prompt) -> int:
        """Return an estimate of the tokens of `prompt`."""
        return estimate_prompt(prompt, self._bytes_per_token)

    def close(self) -> None:
        """Cut every connection."""
        self.server.close()

    # -- one answer ------------------------------------------------------------------------

    def _sample(self, prompt: Prompt, number: int) -> Completion:
        """Ask until the reply has the form asked for, a few times at most."""
        start = time.monotonic()
        seed = prompt.sampling.seed + number
        question, done = prompt, None
        for attempt in range(_TRIES):
            left = prompt.seconds - (time.monotonic() - start) if prompt.seconds else _LONGEST
            if left <= 0:
                break
            try:
                done = self._once(question, seed + 1000 * attempt, left)
            except TooLate:
                if not prompt.seconds:
                    raise
                break
            formed = self._formed(done, prompt)
            if formed is not None:
                return replace(formed, seed=seed, seconds=time.monotonic() - start)
            question = _asked_again(prompt, done.text)
        seconds = time.monotonic() - start
        if done is None or (prompt.seconds and seconds >= prompt.seconds):
            text = done.text if done else prompt.prefill
            return Completion(text=text, finish=Finish.TIME, seed=seed, seconds=seconds)
        note = f"the server's reply does not have the form asked for, in {_TRIES} tries"
        return replace(done, seed=seed, seconds=seconds, notes=(*done.notes, note))

    def _formed(self, done: Completion, prompt: Prompt) -> Completion | None:
        """Return the answer in the form asked for, or None when it cannot have it."""
        if prompt.grammar is None or not done.complete:
            return done
        text = as_grammar_has_it(done.text, prompt.grammar)
        return None if text is None else replace(done, text=text)

    def _once(self, prompt: Prompt, seed: int, seconds: float) -> Completion:
        """Send one request, again and again while the server cannot be reached."""
        end = time.monotonic() + min(self.patience, seconds)
        pause = 0.1
        while True:
            fields = self._fields(prompt, seed)
            try:
                response = self.server.post(f"{self.base}/chat/completions", fields, seconds)
                if response.status >= 500:
                    raise Unreachable(f"{self.server.url!r}: {response.status} {response.text}")
                if response.status >= 400:
                    self._refuse(response, fields)
                    continue
                return self._read(response, prompt)
            except Unreachable as error:
                if time.monotonic() + pause > end:
                    raise ModelProblem(
                        f"no answer from {error}; tried for {self.patience:.0f} s (is the server "
                        "running, and its model loaded?)"
                    ) from error
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    def _fields(self, prompt: Prompt, seed: int) -> dict[str, object]:
        """Return the request; what llama-server knows beyond the standard is ignored by others."""
        sampling = prompt.sampling
        messages = [{"role": str(m.role), "content": m.text} for m in prompt.messages]
        fields: dict[str, object] = {
            "messages": messages,
            "max_tokens": sampling.max_tokens + prompt.thinking,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": seed & 0x7FFFFFFF,
            "cache_prompt": True,
            "chat_template_kwargs": {"enable_thinking": prompt.thinking > 0},
        }
        if self._model:
            fields["model"] = self._model
        # Servers have defaults of their own for these: say that there is to be no such limit.
        fields |= {"top_k": sampling.top_k, "min_p": sampling.min_p}
        if sampling.stop:
            fields["stop"] = list(sampling.stop)[:4]
        if prompt.grammar is not None and prompt.grammar.schema:
            schema = json.loads(prompt.grammar.schema)
            form = {"name": "reply", "strict": True, "schema": schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": form}
        elif prompt.grammar is not None:
            fields["grammar"] = prompt.grammar.gbnf
        return {name: value for name, value in fields.items() if name not in self._refused}

    def _refuse(self, response: Response, fields: dict[str, object]) -> None:
        """Leave out a field that the server does not take; or raise what it says."""
        optional = ("response_format", "grammar", "chat_template_kwargs", "cache_prompt", "top_k",
                    "min_p", "seed")  # fmt: skip
        named = [name for name in optional if name in fields and name in response.text]
        present = [name for name in optional if name in fields]
        if response.status in (400, 422) and (named or present):
            with self._lock:
                self._refused.add((named or present)[0])
            return
        raise ModelProblem(
            f"{self.server.url!r} refuses the prompt: {response.status} {response.text[:200]!r}"
        )

    def _read(self, response: Response, prompt: Prompt) -> Completion:
        """Take the answer out of a response."""
        try:
            choice = response.body["choices"][0]
            message = choice["message"]
            text = _text(message.get("content"))
            reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        except (AttributeError, IndexError, KeyError, TypeError):
            raise Unreachable(
                f"{self.server.url!r}: not a chat completion: {response.text[:120]!r}"
            ) from None
        text, thinking = split_thinking(text)
        if not text.startswith(prompt.prefill):
            text = prompt.prefill + text
        for stop in prompt.sampling.stop:
            text = text.partition(stop)[0]
        usage = response.body.get("usage") or {}
        asked, made = _number(usage, "prompt_tokens"), _number(usage, "completion_tokens")
        return Completion(
            text=text,
            finish=Finish.LENGTH if choice.get("finish_reason") == "length" else Finish.STOP,
            thinking=str(reasoning) or thinking,
            prompt_tokens=asked or estimate_prompt(prompt, self._bytes_per_token),
            evaluated=asked,
            tokens=made or estimate_all([text])[0],
            notes=self._judge_size(prompt, asked),
        )

    def _judge_size(self, prompt: Prompt, counted: int) -> tuple[str, ...]:
        """Learn from the server's count, or say that it has cut the prompt in silence."""
        size = sum(len(m.text.encode("utf-8", "replace")) for m in prompt.messages)
        if not counted or size < 2000:
            return ()
        if counted < _CUT_BELOW * estimate_prompt(prompt):
            return (
                f"the server counted {counted} tokens in a prompt of {size} bytes: it has "
                "probably cut it (give the server a larger context)",
            )
        with self._lock:
            self._bytes_per_token = min(self._bytes_per_token, 0.95 * size / counted)
        return ()

    # -- which model -----------------------------------------------------------------------

    def _find_model(self) -> None:
        """Ask which models there are, once; more than one needs a choice."""
        with self._lock:
            if self._model or "model" in self._refused:
                return
            try:
                response = self.server.get(f"{self.base}/models", min(self.patience, 10.0))
            except (Unreachable, TooLate):
                return  # the question itself will tell
            data = response.body.get("data") if isinstance(response.body, dict) else None
            names = [str(m.get("id")) for m in data or [] if isinstance(m, dict) and m.get("id")]
            if len(names) > 1:
                raise ModelProblem(
                    f"{self.server.url!r} has {len(names)} models: {', '.join(names[:8])} "
                    f"(choose one: --brt-model server:{self.server.url}#{names[0]})"
                )
            if names:
                self._model = names[0]
            else:
                self._refused.add("model")


def _asked_again(prompt: Prompt, reply: str) -> Prompt:
    """Return the prompt with the reply that had the wrong form, and what is wrong with it."""
    form = "Answer again, in exactly the form that was asked for, and write nothing else."
    if prompt.grammar is not None and prompt.grammar.schema:
        form += (
            f" It must be one JSON object that matches this JSON schema:\n{prompt.grammar.schema}"
        )
    more = (
        Message(role=Role.ASSISTANT, text=reply),
        Message(role=Role.USER, text=f"This reply does not have the right form. {form}"),
    )
    return replace(prompt, messages=(*prompt.messages, *more))


def _text(content: Any) -> str:
    """Return a message's text, which some servers send in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _number(usage: Any, name: str) -> int:
    value = usage.get(name) if isinstance(usage, dict) else 0
    return value if isinstance(value, int) else 0
