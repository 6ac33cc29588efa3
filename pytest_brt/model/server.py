"""Answers by a server on this machine that speaks OpenAI's chat completions.

llama-server, Ollama, LM Studio and vLLM do. They differ in what they make of a schema: some
enforce it, some refuse the field, some ignore it in silence. So whoever asks reads a reply as
leniently as one of a model that was held to nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pytest_brt.errors import ModelProblem
from pytest_brt.model import dialect, ollama
from pytest_brt.model.base import (
    Completion,
    Finish,
    ModelFailed,
    Prompt,
    Settings,
    answers_had,
    estimate,
    failure,
    in_the_rest,
)
from pytest_brt.model.loopback import Loopback, Response
from pytest_brt.model.served import ServedModel, ServerKind
from pytest_brt.model.thoughts import split_thinking
from pytest_brt.types.model import (
    ContextAssumed,
    ContextLoaded,
    ModelFault,
    ModelNote,
    OnlyThought,
    PromptCut,
    PromptTooLarge,
    Rejected,
    Rejection,
    TooLate,
    Unreachable,
)

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
#: A prompt that the server counts below this share of our low estimate was cut by it; shorter
#: ones than so many bytes say nothing.
_CUT_BELOW, _TELLING = 0.35, 2000


@dataclass(slots=True)
class _Tries:
    """How a question that is asked again and again has gone so far."""

    #: When its time is over, and when it was first asked.
    end: float
    begun: float = field(default_factory=time.monotonic)
    #: Answers that were errors.
    failures: int = 0
    #: Since when nobody answers, and why; None where somebody did the last time.
    lost: float = 0.0
    gone: Unreachable | None = None
    #: Seconds to wait before the next try.
    pause: float = 0.1

    def wait(self) -> None:
        """Wait for the next try, each time longer."""
        time.sleep(min(self.pause, max(0.0, self.end - time.monotonic())))
        self.pause = min(2 * self.pause, 2.0) or 0.1


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
        self._notes: dict[ModelNote, None] = {}
        #: Fields that this server refused, left out from then on; and that it gives one of `n`.
        self._refused: set[str] = set()
        self._lock = threading.Lock()
        #: Whether it ever answered.
        self._is_heard = False
        #: Why it was given up before it ever did: with a server that nobody may have started
        #: patience is had once, and not for each question.
        self._given_up: Unreachable | None = None
        #: Reply → the thoughts before it, for templates that want them back.
        self._thoughts: dict[str, str] = {}
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
            self._note(ContextAssumed(tokens=context))
        return min(context, self._limit or context) - self._budget(facts)

    @property
    def notes(self) -> tuple[ModelNote, ...]:
        """What was found out about the server so far."""
        return tuple(self._notes)

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells this model from all others; nothing where the server does not say."""
        facts = self._ask_facts()
        how = (facts.digest, str(facts.context), str(self._budget(facts)))
        return how if facts.digest else ()

    def _note(self, note: ModelNote) -> None:
        self._notes[note] = None

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
        found: dict[int, Completion] = {}
        problem: ModelProblem | None = None
        try:
            self.fill(prompt, range(prompt.samples), found)
        except ModelProblem as error:
            problem = error
        return answers_had(prompt, found, problem)

    def count(self, asked: str | Prompt) -> int:
        """Return an estimate."""
        return estimate(asked, self._bytes_per_token)

    def close(self) -> None:
        """Cut every connection."""
        self.server.close()

    # -- answers ---------------------------------------------------------------------------

    def fill(self, prompt: Prompt, numbers: Sequence[int], found: dict[int, Completion]) -> None:
        """Ask for the samples `numbers` of `prompt`, and put each into `found` as it is had.

        Raises:
            ModelProblem: why those that are missing then could not be had.
        """
        begun = time.monotonic()
        facts = self._ask_facts()
        if facts.kind in (ServerKind.LLAMA, ServerKind.VLLM) and len(numbers) == prompt.samples > 1:
            self._fill_together(prompt, facts.slots or prompt.samples, begun, found)
        missing = [number for number in numbers if number not in found]
        problems: list[ModelProblem] = []

        def ask(number: int) -> None:
            if problems:
                return  # it is not worth asking any more
            try:
                found.update(self._request(prompt, number, begun))
            except ModelProblem as problem:
                problems.append(problem)

        if len(missing) == 1:
            ask(missing[0])
        elif missing:
            pool = ThreadPoolExecutor(_AT_ONCE)
            try:
                list(pool.map(ask, missing))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        if problems:
            raise problems[0]

    def _fill_together(
        self, prompt: Prompt, most: int, begun: float, found: dict[int, Completion]
    ) -> None:
        """Ask for up to `most` answers in one request, which reads the prompt once."""
        while len(found) < prompt.samples and "n" not in self._refused:
            count = min(prompt.samples - len(found), most)
            try:
                got = self._request(prompt, len(found), begun, count)
            except ModelProblem:
                if found:
                    return
                raise
            if len(got) < count:
                self._refused.add("n")
            found |= got

    def _request(
        self, prompt: Prompt, number: int, begun: float, count: int = 1
    ) -> dict[int, Completion]:
        """Return answers from sample `number` on, cut when the time of what was begun is over."""
        start = time.monotonic()
        prompt = in_the_rest(prompt, begun)
        seed = prompt.sampling.seed + number
        try:
            response = self._post(prompt, seed, prompt.seconds or _LONGEST, count)
            answers = self._read(response, prompt)
        except ModelFailed as error:
            if not (prompt.seconds and isinstance(error.fault, TooLate)):
                raise
            answers = [Completion(text=prompt.prefill, finish=Finish.TIME)] * count
        spent = time.monotonic() - start
        return {
            number + i: replace(answer, seed=seed + i, seconds=spent)
            for i, answer in enumerate(answers)
        }

    # -- requests --------------------------------------------------------------------------

    def _post(self, prompt: Prompt, seed: int, seconds: float, n: int = 1) -> Response:
        """Ask until there is an answer: wait while it loads, leave out what it refuses."""
        tries = _Tries(end=time.monotonic() + seconds)
        while True:
            # What a server fails over with one seed it may do with another.
            path, fields = self._asked(prompt, seed + 7919 * tries.failures, n)
            left = tries.end - time.monotonic()
            if left <= 0:
                raise ModelFailed(tries.gone or TooLate(url=self.server.url, seconds=seconds))
            try:
                response = self._once(path, left, fields)
            except ModelFailed as error:
                if not isinstance(error.fault, Unreachable):
                    raise
                self._bear_absence(error.fault, tries)
            else:
                if response.status < 400:
                    self._read_back()
                    return response
                tries.gone, tries.lost, tries.failures = None, 0.0, tries.failures + 1
                fault = self._bear(response, fields, prompt, tries)
                if fault is not None:
                    raise failure(fault)
            tries.wait()

    def _once(self, path: str, seconds: float, fields: dict[str, object]) -> Response:
        """Ask for an answer once; return it in the shape of OpenAI's, or a refusal.

        Raises:
            ModelFailed: nobody answered, or with something else.
        """
        response = self.server.ask(path, seconds, fields)
        if path == ollama.CHAT and response.status < 400:
            response = replace(response, body=ollama.as_chat_completion(response.body))
        if response.status < 400 and not dialect.choices_of(response):
            reason = f"not a chat completion: {response.text[:120]!r}"
            raise ModelFailed(Unreachable(url=self.server.url, reason=reason))
        self._is_heard = self._is_heard or response.body is not None
        return response

    def _bear_absence(self, fault: Unreachable, tries: _Tries) -> None:
        """Let another try be made, unless patience with a server that is gone is over."""
        if self._given_up is not None and not self._is_heard:
            raise ModelFailed(self._given_up)
        patience = self.settings.comeback if self._is_heard else self.settings.patience
        now = time.monotonic()
        tries.lost = tries.lost or now
        seconds = min(now - tries.lost + tries.pause, patience)
        tries.gone = Unreachable(url=fault.url, reason=fault.reason, seconds=seconds)
        if seconds < patience:
            return
        if not self._is_heard:
            self._given_up = tries.gone
        raise ModelFailed(tries.gone)

    def _asked(self, prompt: Prompt, seed: int, count: int) -> tuple[str, dict[str, object]]:
        """Return where to ask for `count` answers, and the fields but for those refused."""
        facts = self._facts or ServedModel()
        if facts.kind is ServerKind.OLLAMA:
            path, whole = ollama.CHAT, ollama.request(prompt, facts, seed, self._thoughts)
        else:
            path = f"{self.base}/chat/completions"
            whole = dialect.request(prompt, facts, seed, count, self._thoughts)
        return path, {name: value for name, value in whole.items() if name not in self._refused}

    def _too_large(self, response: Response, prompt: Prompt) -> PromptTooLarge:
        """Learn from a refusal for length how much there is room for.

        Where the refusal names no number, a quarter less than what was asked for is tried next.
        """
        count = self.count(prompt)
        answer = prompt.sampling.max_tokens + prompt.thinking
        least = min(count + answer, self._limit or count + answer)
        self._limit = dialect.told_context(response) or 3 * least // 4
        return PromptTooLarge(
            context=self._limit,
            prompt=count,
            answer=answer,
            url=self.server.url,
            said=response.text[:160],
        )

    def _read_back(self) -> None:
        """Ask Ollama once which context it loaded the model with: it may have room for less."""
        facts = self._facts
        if facts is None or facts.kind is not ServerKind.OLLAMA or self._is_read_back:
            return
        self._is_read_back = True
        with suppress(ModelProblem):  # it has answered, and that is what counts
            got = ollama.loaded_context(self.server, facts.model, _ASKING)
            if 0 < got < facts.context:
                self._limit = got
                self._note(ContextLoaded(model=facts.model, tokens=got, wanted=facts.context))

    def _bear(
        self, response: Response, fields: dict[str, object], prompt: Prompt, tries: _Tries
    ) -> ModelFault | None:
        """Say when to try again after an error, or return what makes that useless."""
        if dialect.is_overflow(response):
            return self._too_large(response, prompt)
        status, is_foreign = response.status, response.body is None
        named = dialect.named_field(response, fields)
        is_loading = status == 503 and "load" in response.text.lower()
        if named:
            self._refused.add(named)
            tries.pause = 0.0
        elif status == 429:
            tries.pause = response.wait or tries.pause
        elif is_loading and time.monotonic() - tries.begun < _LOADING:
            tries.pause = response.wait or max(tries.pause, 0.1)
        elif status < 500 or tries.failures >= _TRIES:
            why = Rejection.FAILS if status >= 500 else Rejection.PROMPT
            if status == 404 and not is_foreign:
                why = Rejection.NO_MODEL
            elif is_foreign and not self._is_heard:
                why = Rejection.FOREIGN
            elif status in (401, 403):
                why = Rejection.KEY
            return Rejected(
                url=self.server.url,
                why=why,
                status=status,
                said=response.text[:200],
                base=self.base,
                model=self.chosen,
            )
        return None

    def _read(self, response: Response, prompt: Prompt) -> list[Completion]:
        """Take the answers out of a response."""
        usage = dialect.usage_of(response)
        choices = dialect.choices_of(response)
        notes = self._judge_size(prompt, usage.prompt)
        found = []
        for number, choice in enumerate(choices):
            text, thoughts = _said(choice["message"], prompt)
            own = notes
            if thoughts and not text.removeprefix(prompt.prefill):
                silent = OnlyThought(characters=len(thoughts))
                self._note(silent)
                own = (*notes, silent)
            if thoughts and self._facts is not None and self._facts.keeps_thoughts:
                self._thoughts[text] = thoughts
            made = usage.made if len(choices) == 1 else 0
            is_cut = choice.get("finish_reason") == "length"
            completion = Completion(
                text=text,
                finish=Finish.LENGTH if is_cut else Finish.STOP,
                thinking=thoughts,
                prompt_tokens=usage.prompt or estimate(prompt, self._bytes_per_token),
                evaluated=usage.prompt - usage.known if number == 0 else 0,
                tokens=made or estimate(text + thoughts),
                notes=own,
            )
            found.append(completion)
        return found

    def _judge_size(self, prompt: Prompt, counted: int) -> tuple[ModelNote, ...]:
        """Learn from the server's count, or say that it has cut the prompt in silence."""
        size = sum(len(m.text.encode("utf-8", "replace")) for m in prompt.messages)
        if not counted or size < _TELLING:
            return ()
        if counted < _CUT_BELOW * estimate(prompt):
            return (PromptCut(counted=counted, size=size),)
        with self._lock:
            self._bytes_per_token = min(self._bytes_per_token, 0.95 * size / counted)
        return ()

    # -- what it is ------------------------------------------------------------------------

    def _ask_facts(self) -> ServedModel:
        """Ask the server about its model, once; where it does not answer, little is known."""
        unknown = ServedModel(model=self.chosen)
        with self._lock:
            if self._facts is not None or time.monotonic() < self._ask_from:
                return self._facts or unknown
            seconds = min(self.settings.comeback, _ASKING)
            try:
                listed = self.server.ask(f"{self.base}/models", seconds)
                self._is_heard = self._is_heard or dialect.is_told(listed)
                if listed.status == 503:  # it loads its model: the question itself waits
                    return unknown
                self._facts = dialect.read_facts(
                    self.server, self.base, listed, self.chosen, seconds, self.settings.context
                )
            except ModelFailed as error:
                if isinstance(error.fault, TooLate):  # nor would it be quicker at once
                    self._ask_from = time.monotonic() + _UNTOLD
            return self._facts or unknown


def _said(message: dict[str, object], prompt: Prompt) -> tuple[str, str]:
    """Return the answer in a message as `prompt` wants it, and the thoughts before it."""
    text, thinking = split_thinking(dialect.text_of(message.get("content")))
    thoughts = str(message.get("reasoning_content") or message.get("reasoning") or thinking)
    if not text and prompt.grammar is not None:
        text = dialect.called(message, thoughts)
    if not text.startswith(prompt.prefill):
        text = prompt.prefill + text
    for stop in prompt.sampling.stop:
        text = text.partition(stop)[0]
    return text, thoughts
