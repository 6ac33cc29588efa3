"""One answer in the making: thinking, then text, until something ends it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pytest_brt.model.base import Completion, Finish, Prompt
from pytest_brt.model.thoughts import split_thinking
from pytest_brt.model.worker.llama import Sequence, Weights
from pytest_brt.model.worker.sampling import Sampler
from pytest_brt.model.worker.tokens import Rendered, Thought

#: A tail of this many tokens that repeats one stretch of at most `_LOOP_PERIOD` is a loop.
_LOOP_TAIL = 192
_LOOP_PERIOD = 48
_LOOP_EVERY = 32


@dataclass(slots=True, eq=False)
class Sample:
    """A sample that is being continued."""

    number: int
    prompt: Prompt
    rendered: Rendered
    sampler: Sampler
    weights: Weights
    #: Control tokens of the chat template: in an answer they begin another turn.
    turns: frozenset[int]
    #: None when it does not think (any more).
    thought: Thought | None = field(init=False)
    sequence: Sequence | None = None
    #: Chosen, but not evaluated yet.
    pending: list[int] = field(default_factory=list)
    #: Every token after the prompt, forced ones too.
    ids: list[int] = field(default_factory=list)
    answer: bytearray = field(default_factory=bytearray)
    thinking: bytearray = field(default_factory=bytearray)
    #: What may be the beginning of thoughts, or of the answer.
    opening: bytes = b""
    made: int = 0
    answered: int = 0
    finish: Finish | None = None

    def __post_init__(self) -> None:
        """Begin the answer with what is given of it."""
        self.thought = self.rendered.thought
        self.answer += self.prompt.prefill.encode("utf-8", "replace")

    def take(self, token: int) -> None:
        """Go on with `token`: say what is to be evaluated next, or why the answer ended."""
        if self.thought is None:
            self._say(token)
        elif self.thought.begun:
            self._think(token, self.thought)
        else:
            self._begin(token, self.thought)
        self.ids += self.pending

    def end(self, finish: Finish) -> None:
        """End the answer as it is."""
        self.finish = finish
        self.pending = []

    def _begin(self, token: int, thought: Thought) -> None:
        """See whether the model begins to think; until that is known its tokens are held back."""
        piece = b"" if token in self.weights.ends else self.weights.piece(token)
        start = (self.opening + piece).lstrip()
        if piece and start.startswith(thought.open):
            self.made += 1
            self.thought = replace(thought, begun=True)
            self.pending = [token]
            if thought.budget <= 0:
                self._answer_next([token, *thought.force])
        elif piece and thought.open.startswith(start):
            self.made += 1
            self.opening += piece
            self.pending = [token]
        else:
            self.thought = None
            self.answer += self.opening
            self._say(token)

    def _think(self, token: int, thought: Thought) -> None:
        self.made += 1
        if token in self.weights.ends:  # it forgot to answer
            self._answer_next([*thought.force])
            return
        self.thinking += self.weights.piece(token)
        if thought.close in self.thinking[-len(thought.close) - 64 :]:
            self.thinking = self.thinking.removesuffix(thought.close)
            self._answer_next([token, *thought.after])
        elif self.made >= thought.budget:
            self._answer_next([token, *thought.force])
        else:
            self.pending = [token]

    def _answer_next(self, tokens: list[int]) -> None:
        self.thought = None
        self.pending = [*tokens, *self.rendered.prefill]

    def _say(self, token: int) -> None:
        if token in self.weights.ends or token in self.turns:
            self.end(Finish.STOP)
            return
        self.made += 1
        self.answered += 1
        self.pending = [token]
        if token not in self.weights.control:
            piece = self.weights.piece(token)
            self.answer += piece
            if self._stopped(len(piece)):
                return
        if self.answered >= self.prompt.sampling.max_tokens:
            self._last(token, Finish.LENGTH)
        elif self.answered % _LOOP_EVERY == 0 and repeats([*self.ids, token]):
            self._last(token, Finish.LOOP)

    def _last(self, token: int, finish: Finish) -> None:
        self.end(finish)
        self.ids.append(token)

    def _stopped(self, added: int) -> bool:
        """End at a stop string, which may have begun in an earlier token."""
        for stop in self.prompt.sampling.stop:
            raw = stop.encode()
            start = max(0, len(self.answer) - added - len(raw) + 1)
            at = self.answer.find(raw, start)
            if at >= 0:
                del self.answer[at:]
                self._last(self.pending[0], Finish.STOP)
                return True
        return False

    def completion(self, *, prompt_tokens: int, evaluated: int, seconds: float) -> Completion:
        """Return the answer as far as it came."""
        thinking = self.thinking.decode("utf-8", "replace")
        strict = self.prompt.grammar is not None
        text = self.answer.decode("utf-8", "ignore" if strict else "replace")
        if not strict and not thinking:
            text, thinking = split_thinking(text)
        return Completion(
            text=text,
            finish=self.finish or Finish.LENGTH,
            seed=self.prompt.sampling.seed + self.number,
            thinking=thinking.strip(),
            prompt_tokens=prompt_tokens,
            evaluated=evaluated,
            tokens=self.made,
            seconds=seconds,
        )


def repeats(ids: list[int]) -> bool:
    """Return whether `ids` end in one short stretch over and over."""
    if len(ids) < _LOOP_TAIL:
        return False
    tail = ids[-_LOOP_TAIL:]
    return any(tail[period:] == tail[:-period] for period in range(1, _LOOP_PERIOD + 1))
