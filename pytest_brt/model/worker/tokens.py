"""Turns prompts into token ids, and keeps the ids of what was said.

A reply is never tokenized again: a conversation that goes on begins with the very ids that were
evaluated and made, so that only what is new has to be evaluated, whatever the template does
with old turns. Known conversations are found by their texts; a caller only appends messages.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_brt.codec import to_json
from pytest_brt.model.base import Message, Prompt, Role
from pytest_brt.model.chat import Begins, Segment, Template
from pytest_brt.model.worker.llama import Weights

#: Conversations whose ids are remembered.
_KNOWN = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """How thinking begins and ends in this prompt."""

    #: Bytes by which the model begins it, where it decides so itself.
    open: bytes
    #: Bytes by which it ends it.
    close: bytes
    #: Tokens that end it for the model once its budget is spent.
    force: tuple[int, ...]
    #: Tokens put after the model's own `close` when the answer must begin at once.
    after: tuple[int, ...]
    budget: int
    #: Whether it has begun; otherwise the first tokens will tell.
    begun: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A prompt as token ids."""

    ids: array[int]
    #: None when the answer begins at once.
    thought: Thought | None
    #: Tokens of the prefill, forced after the thinking; without thinking they are in `ids`.
    prefill: tuple[int, ...]
    #: Tokens up to the end of the last message: what a conversation that goes on begins with,
    #: whatever the template puts before an answer.
    stable: int = 0


class Conversations:
    """Renders prompts for one model."""

    def __init__(self, weights: Weights, template: Template) -> None:
        self.weights = weights
        self.template = template
        self._known: OrderedDict[bytes, array[int]] = OrderedDict()
        markers = weights.markers
        self._marker = _any_of(markers)
        self._guarded = _any_of(
            name for name, token in markers.items()
            if token not in weights.control and name in template.source and name.strip()
        )  # fmt: skip
        self.turns = frozenset(
            token for name, token in markers.items()
            if token in weights.control and token not in weights.ends and name in template.source
        )  # fmt: skip

    def render(self, prompt: Prompt) -> Rendered:
        """Return the ids of `prompt`, those of earlier replies as they were made.

        Raises:
            ModelProblem: the template fails.
        """
        rendering = self.template.render(prompt.messages, thinking=prompt.thinking)
        known, rest = self._longest_known(prompt.messages, rendering.segments)
        made = self.encode(rest)
        ids = array("i", known)
        ids.extend(made)
        if self.weights.add_bos and (not ids or ids[0] != self.weights.bos):
            ids.insert(0, self.weights.bos)
        stable = 0
        if rest and rest[-1].message < 0:
            before = self.encode(rest[:-1])
            shift = len(ids) - len(made)
            if ids[shift : shift + len(before)].tolist() == before:
                stable = shift + len(before)
        prefill = tuple(self.weights.tokenize(prompt.prefill))
        bound = prompt.grammar is not None or prompt.prefill != ""
        marks, begins = rendering.marks, rendering.begins
        if marks is None or begins is Begins.ANSWER or (bound and begins is Begins.EITHER):
            ids.extend(prefill)
            return Rendered(ids=ids, thought=None, prefill=(), stable=stable)
        thought = Thought(
            open=marks.open.encode(),
            close=marks.close.encode(),
            force=tuple(self.encode([Segment(text=marks.end)])),
            after=tuple(self.encode([Segment(text=marks.after)])) if bound else (),
            budget=prompt.thinking,
            begun=begins is Begins.THOUGHTS,
        )
        return Rendered(ids=ids, thought=thought, prefill=prefill, stable=stable)

    def learn(self, messages: Sequence[Message], reply: str, ids: array[int]) -> None:
        """Remember that `ids` are the conversation `messages` with `reply` at its end."""
        key = _key([*messages, Message(role=Role.ASSISTANT, text=reply)])
        self._known[key] = ids
        self._known.move_to_end(key)
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)

    def encode(self, segments: Iterable[Segment]) -> list[int]:
        """Return the ids of `segments`; only markup holds control tokens.

        Text and the markup around it are tokenized together up to the next control token, as
        in training.
        """
        ids: list[int] = []
        run = ""
        for segment in segments:
            at, markup = 0, segment.message < 0
            # The tokenizer knows some markers even in text: they are torn apart.
            for found in (self._marker if markup else self._guarded).finditer(segment.text):
                end = found.start() if markup else found.start() + 1
                ids += self.weights.tokenize(run + segment.text[at:end])
                run, at = "", end
                if markup:
                    ids.append(self.weights.markers[found[0]])
                    at = found.end()
            run += segment.text[at:]
        return ids + self.weights.tokenize(run)

    def _longest_known(
        self, messages: Sequence[Message], segments: Sequence[Segment]
    ) -> tuple[array[int], Sequence[Segment]]:
        """Return the ids of the longest known beginning, and what comes after it."""
        for number in range(len(messages) - 1, -1, -1):
            if messages[number].role is not Role.ASSISTANT:
                continue
            key = _key(messages[: number + 1])
            places = [i for i, segment in enumerate(segments) if segment.message == number]
            if key in self._known and places:
                self._known.move_to_end(key)
                return self._known[key], segments[places[-1] + 1 :]
        return array("i"), segments


def _key(messages: Sequence[Message]) -> bytes:
    return hashlib.sha256(to_json(tuple(messages)).encode()).digest()


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of any of `words`, longest first; it never matches without words."""
    parts = sorted((re.escape(word) for word in words if word), key=len, reverse=True)
    return re.compile("|".join(parts) if parts else r"(?!)")
