"""Answers by a server on this machine that speaks OpenAI's chat completions.

llama-server, Ollama, LM Studio and vLLM do. They differ in what they make of a schema: some
enforce it, some refuse the field, some ignore it in silence. So whoever asks reads a reply as
leniently as one of a model that was held to nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from pytest_brt.errors import ModelProblem, Overflowed
from pytest_brt.model import dialect, ollama
from pytest_brt.model.base import (
    Completion,
    Finish,
    Prompt,
    Settings,
    estimate,
    in_the_rest,
    lost_answers,
)
from pytest_brt.model.loopback import Loopback, Response, TooLate, Unreachable
from pytest_brt.model.reply import split_thinking
from pytest_brt.model.served import ServedModel, ServerKind

#: Seconds for one answer when the prompt sets no limit, and for a model to be loaded.
_LONGEST, _LOADING = 3600.0, 900.0
#: Seconds for what a server says of itself.
_ASKING = 10.0
#: Seconds until a server that did not say what it is is asked that again.
_UNTOLD = 60.0
#: Requests at the same time.
_AT_ONCE = 8
#: Times a server that fails is asked.
_TRIES = 3
#: Tokens of context that are tried where nobody tells.
_CONTEXT = 16384
#: A prompt that the server counts below this share of our low estimate was cut by it.
_CUT_BELOW = 0.35


class ServerModel:
    """Asks a server on loopback."""

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
        self.settings = settings
        self._facts: ServedModel | None = None
        #: When it may be asked for them, after it has not answered.
        self._ask_from = 0.0
        #: What the server told when a prompt was too long for it, or less than such a prompt.
        self._limit = 0
        #: Whether Ollama was asked which context it took.
        self._is_read_back = False
        self._remarks: dict[str, None] = {}
        #: Fields that this server refused, left out from then on; and that it gives one of `n`.
        self._refused: set[str] = set()
        self._lock = threading.Lock()
        #: Whether it ever answered, and when it was first asked in vain before it did: patience
        #: with a server that nobody may have started counts from then, for all questions.
        self._is_heard, self._in_vain = False, 0.0
        #: Learned from what the server counts; never above the estimate's own.
        self._bytes_per_token = 3.0

    @property
    def context(self) -> int:
        """Tokens that a prompt and its answer can have: chosen, told, or assumed."""
        facts = ServedModel()
        with suppress(ModelProblem):  # several models leave it open
            facts = self._ask_facts()
        context = self.settings.context or facts.context
        if not context:
            context = _CONTEXT
            self._remark(
                f"the server does not tell its context: up to {_CONTEXT} tokens are tried "
                "(its own: --brt-engine auto,context=N)"
            )
        if self._limit:
            context = min(context, self._limit)
        return context - self._budget(facts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out about the server so far."""
        return tuple(self._remarks)

    def _remark(self, text: str) -> None:
        self._remarks[text] = None

    def _budget(self, facts: ServedModel) -> int:
        """Return the tokens that may be thought before the answer to a weighty question."""
        return min(self.settings.thinking, facts.context // 4) if facts.thinks else 0

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the answers, asked for at the same time.

        Raises:
            ModelProblem: the server cannot be reached, or refuses the prompt.
        """
        facts = self._ask_facts()
        # A server holds thoughts to the form of the answer too: where there is one, none.
        if prompt.weighty and not prompt.thinking and prompt.grammar is None:
            prompt = replace(prompt, thinking=self._budget(facts))
        start = time.monotonic()
        if prompt.samples == 1:
            return tuple(self._request(prompt, 0, start))
        several = facts.kind in (ServerKind.LLAMA, ServerKind.VLLM)
        together = self._together(prompt, facts, start) if several else []
        apart, problem = self._apart(prompt, start, range(len(together), prompt.samples))
        found = [*together, *apart]
        if problem is None:
            return tuple(found)
        if not found:
            raise problem
        note = lost_answers(prompt.samples - len(found), prompt.samples, problem)
        self._remark(note)
        return tuple(replace(done, notes=(*done.notes, note)) for done in found)

    def count(self, asked: str | Prompt) -> int:
        """Return an estimate."""
        return estimate(asked, self._bytes_per_token)

    def close(self) -> None:
        """Cut every connection."""
        self.server.close()

    # -- answers ---------------------------------------------------------------------------

    def _together(self, prompt: Prompt, facts: ServedModel, begun: float) -> list[Completion]:
        """Ask for many answers in one request, which reads the prompt once."""
        done: list[Completion] = []
        while len(done) < prompt.samples and "n" not in self._refused:
            asked = min(prompt.samples - len(done), facts.slots or prompt.samples)
            try:
                found = self._request(prompt, len(done), begun, asked)
            except ModelProblem:
                if not done:
                    raise
                break
            if len(found) < asked:
                self._refused.add("n")
            done += found
        return done

    def _apart(
        self, prompt: Prompt, start: float, numbers: Iterable[int]
    ) -> tuple[list[Completion], ModelProblem | None]:
        """Ask for each answer in a request of its own; return those had, and what kept others."""
        pool = ThreadPoolExecutor(_AT_ONCE)
        asked = [pool.submit(self._request, prompt, number, start) for number in numbers]
        found: list[Completion] = []
        problem: ModelProblem | None = None
        try:
            for one in asked:
                try:
                    found += one.result()
                except ModelProblem as error:
                    problem = problem or error
                    pool.shutdown(wait=False, cancel_futures=True)
                except CancelledError:
                    continue  # it was not worth asking any more
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return found, problem

    def _request(
        self, prompt: Prompt, number: int, begun: float, count: int = 1
    ) -> list[Completion]:
        """Return answers from sample `number` on, cut when the time of what was begun is over."""
        start = time.monotonic()
        prompt = in_the_rest(prompt, begun)
        seed = prompt.sampling.seed + number
        try:
            response = self._post(prompt, seed, prompt.seconds or _LONGEST, count)
            found = self._read(response, prompt)
        except TooLate:
            if not prompt.seconds:
                raise
            found = [Completion(text=prompt.prefill, finish=Finish.TIME)] * count
        spent = time.monotonic() - start
        return [replace(one, seed=seed + i, seconds=spent) for i, one in enumerate(found)]

    # -- requests --------------------------------------------------------------------------

    def _post(self, prompt: Prompt, seed: int, seconds: float, n: int = 1) -> Response:
        """Ask until there is an answer: wait while it loads, leave out what it refuses."""
        begin = time.monotonic()
        end = begin + seconds
        gone: Unreachable | None = None
        lost, failures, pause = 0.0, 0, 0.1
        while True:
            # What a server fails over with one seed it may do with another.
            path, fields = self._asked(prompt, seed + 7919 * failures, n)
            left = end - time.monotonic()
            if left <= 0:
                if gone is not None:
                    raise self._gone(gone, time.monotonic() - lost) from gone
                raise TooLate(f"{self.server.url!r} did not answer within {seconds:.0f} s")
            try:
                response = self._once(path, left, fields)
            except Unreachable as error:
                gone, lost = error, lost or self._in_vain or time.monotonic()
                patience = self._patience
                is_over = time.monotonic() + pause - lost > patience
                if not self._is_heard:
                    self._in_vain = lost - patience if is_over else lost
                if is_over:
                    raise self._gone(error, patience) from error
            else:
                if response.status < 400:
                    self._read_back()
                    return response
                gone, lost, failures = None, 0.0, failures + 1
                waited = time.monotonic() - begin
                if dialect.is_overflow(response):
                    raise self._overflow(response, prompt)
                pause = self._bear(response, fields, failures, waited, pause)
            time.sleep(min(pause, max(0.0, end - time.monotonic())))
            pause = min(2 * pause, 2.0) if pause else 0.1

    def _once(self, path: str, seconds: float, fields: dict[str, object]) -> Response:
        """Ask for an answer once; return it in the shape of OpenAI's, or a refusal.

        Raises:
            Unreachable: nobody answered, or with something else.
        """
        response = self._server().ask(path, seconds, fields)
        if path == ollama.CHAT and response.status < 400:
            response = replace(response, body=ollama.as_chat_completion(response.body))
        if response.status < 400 and not dialect.choices_of(response):
            raise Unreachable(
                f"{self.server.url!r}: not a chat completion: {response.text[:120]!r}"
            )
        self._is_heard = self._is_heard or response.body is not None
        return response

    @property
    def _patience(self) -> float:
        """Seconds for which it is tried while it cannot be reached."""
        return self.settings.comeback if self._is_heard else self.settings.patience

    def _gone(self, error: Unreachable, tried: float) -> ModelProblem:
        return ModelProblem(
            f"no answer from {error}; tried for {tried:.0f} s (start the server, or wait for it: "
            "--brt-engine auto,patience=60; 'pytest-brt models' finds servers that run)"
        )

    def _asked(self, prompt: Prompt, seed: int, count: int) -> tuple[str, dict[str, object]]:
        """Return where to ask for `count` answers, and the fields but for those refused."""
        facts = self._facts or ServedModel()
        if facts.kind is ServerKind.OLLAMA:
            path, whole = ollama.CHAT, ollama.request(prompt, facts, seed)
        else:
            path = f"{self.base}/chat/completions"
            whole = dialect.request(prompt, facts, seed, count)
        return path, {name: value for name, value in whole.items() if name not in self._refused}

    def _overflow(self, response: Response, prompt: Prompt) -> Overflowed:
        """Learn from a refusal for length how much there is room for, and say it.

        Where the refusal names no number, a quarter less than what was asked for is tried next.
        """
        asked = self.count(prompt) + prompt.sampling.max_tokens + prompt.thinking
        least = min(asked, self._limit or asked)
        self._limit = dialect.told_context(response) or 3 * least // 4
        return Overflowed(
            f"the prompt is longer than the context that {self.server.url!r} has for it, taken as "
            f"{self._limit} tokens from now on: {response.text[:160]!r} (give the server more, or "
            "say --brt-engine auto,context=N)"
        )

    def _read_back(self) -> None:
        """Ask Ollama once which context it loaded the model with: it may have room for less."""
        facts = self._facts
        if facts is None or facts.kind is not ServerKind.OLLAMA or self._is_read_back:
            return
        self._is_read_back = True
        with suppress(ModelProblem):  # it has answered, and that is what counts
            got = ollama.loaded_context(self._server(), facts.model, _ASKING)
            if 0 < got < facts.context:
                self._limit = got
                self._remark(
                    f"Ollama loaded {facts.model!r} with {got} tokens of context where "
                    f"{facts.context} were asked for (less memory for others, or --brt-engine "
                    f"auto,context={got})"
                )

    def _bear(
        self,
        response: Response,
        fields: dict[str, object],
        failures: int,
        waited: float,
        pause: float,
    ) -> float:
        """Return how long to wait before the next try, or raise what makes one useless."""
        url = self.server.url
        named = dialect.named_field(response, fields)
        if named:
            self._refused.add(named)
            return 0.0
        if response.status == 429:
            return response.wait or pause
        loading = response.status == 503 and "load" in response.text.lower()
        if loading and waited < _LOADING:
            return response.wait or max(pause, 0.1)
        if response.status >= 500 and failures < _TRIES:
            return pause
        if response.status == 404 and response.body is not None:
            raise ModelProblem(
                f"{url!r} has no chat completions below {self.base!r}, or no model called "
                f"{self.chosen!r}: 404 {response.text[:200]!r} ('pytest-brt models' finds servers "
                "that run)"
            )
        if response.body is None and not self._is_heard:
            raise ModelProblem(
                f"{url!r} is no server of models: it answers {response.status} "
                f"{response.text[:60]!r} ('pytest-brt models' finds servers that run)"
            )
        what = "fails" if response.status >= 500 else "refuses the prompt"
        if response.status in (401, 403):
            what = "wants another key (PYTEST_BRT_SERVER_KEY)"
        raise ModelProblem(f"{url!r} {what}: {response.status} {response.text[:200]!r}")

    def _read(self, response: Response, prompt: Prompt) -> list[Completion]:
        """Take the answers out of a response."""
        asked, made, cached = dialect.usage_of(response)
        choices = dialect.choices_of(response)
        notes = self._judge_size(prompt, asked)
        found = []
        for number, choice in enumerate(choices):
            message, cut = choice["message"], choice.get("finish_reason") == "length"
            text, thinking = split_thinking(dialect.text_of(message.get("content")))
            reasoning = message.get("reasoning_content") or message.get("reasoning") or thinking
            if not text and prompt.grammar is not None:
                text = dialect.called(message, str(reasoning))
            if not text and reasoning:
                silent = (
                    f"the server's model thought {len(reasoning)} characters and gave no answer "
                    "(switch its thinking off, or allow more: --brt-engine auto,thinking=N)"
                )
                self._remark(silent)
                notes = (*notes, silent)
            if not text.startswith(prompt.prefill):
                text = prompt.prefill + text
            for stop in prompt.sampling.stop:
                text = text.partition(stop)[0]
            guess = estimate(text + str(reasoning))
            found.append(
                Completion(
                    text=text,
                    finish=Finish.LENGTH if cut else Finish.STOP,
                    thinking=str(reasoning),
                    prompt_tokens=asked or estimate(prompt, self._bytes_per_token),
                    evaluated=asked - cached if number == 0 else 0,
                    tokens=(made if len(choices) == 1 else 0) or guess,
                    notes=notes,
                )
            )
        return found

    def _judge_size(self, prompt: Prompt, counted: int) -> tuple[str, ...]:
        """Learn from the server's count, or say that it has cut the prompt in silence."""
        size = sum(len(m.text.encode("utf-8", "replace")) for m in prompt.messages)
        if not counted or size < 2000:
            return ()
        if counted < _CUT_BELOW * estimate(prompt):
            return (
                f"the server counted {counted} tokens in a prompt of {size} bytes: it has "
                "probably cut it (give the server a larger context)",
            )
        with self._lock:
            self._bytes_per_token = min(self._bytes_per_token, 0.95 * size / counted)
        return ()

    # -- what it is ------------------------------------------------------------------------

    def _server(self) -> Loopback:
        """Return the connection to ask by."""
        return self.server

    def _ask_facts(self) -> ServedModel:
        """Ask the server about its model, once; where it does not answer, little is known."""
        unknown = ServedModel(model=self.chosen)
        with self._lock:
            if self._facts is None and time.monotonic() >= self._ask_from:
                seconds = min(self.settings.comeback, _ASKING)
                try:
                    server = self._server()
                    listed = server.ask(f"{self.base}/models", seconds)
                    self._is_heard = self._is_heard or dialect.is_told(listed)
                    if listed.status == 503:  # it loads its model: the question itself waits
                        return unknown
                    self._facts = dialect.read_facts(
                        server, self.base, listed, self.chosen, seconds, self.settings.context
                    )
                except Unreachable:
                    return unknown
                except TooLate:  # nor would it be quicker at once
                    self._ask_from = time.monotonic() + _UNTOLD
            return self._facts or unknown
