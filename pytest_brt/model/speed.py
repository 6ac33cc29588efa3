"""Measures how fast a model is here: reading prompts, writing one answer, writing sixteen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

import msgspec

from pytest_brt.model.base import Message, Model, Prompt, Role, Sampling
from pytest_brt.model.grammar import Shape, grammar_for

#: Answers at the same time.
_TOGETHER = 16
#: Bytes read for the memory's bandwidth.
_READ = 1 << 28


class _Header(msgspec.Struct):
    """A reply as agents give it, to see what a grammar costs."""

    thought: Annotated[str, msgspec.Meta(max_length=200)]
    action: Annotated[str, msgspec.Meta(max_length=40)]
    path: Annotated[str, msgspec.Meta(max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Tokens per second of wall-clock time."""

    prompt_tokens: int
    reading: float
    writing: float
    #: All of sixteen answers together.
    together: float
    together_grammar: float
    #: Bytes per second that the memory can be read at, by one thread.
    bandwidth: float


def measure_speed(model: Model, *, words: int = 380, tokens: int = 48) -> Speed:
    """Measure `model` with a prompt of about `words` words and answers of `tokens` tokens."""
    model.count(["load"])
    text = " ".join(f"item {number} is {number * 7919 % 1000}" for number in range(words // 4))
    read = _ask(model, text, 1, 1)
    one = _ask(model, text, 1, tokens)
    many = _ask(model, text, _TOGETHER, tokens)
    bound = _ask(model, text, _TOGETHER, tokens, bound=True)
    return Speed(
        prompt_tokens=read[0],
        reading=read[0] / read[2],
        writing=one[1] / one[2],
        together=many[1] / many[2],
        together_grammar=bound[1] / bound[2],
        bandwidth=bandwidth(),
    )


def _ask(
    model: Model, text: str, samples: int, tokens: int, *, bound: bool = False
) -> tuple[int, int, float]:
    """Return the tokens of the prompt, those made, and the seconds it took."""
    prompt = Prompt(
        messages=(Message(role=Role.USER, text=text),),
        samples=samples,
        sampling=Sampling(max_tokens=tokens, top_k=40, seed=1),
        grammar=grammar_for(Shape(header=_Header)) if bound else None,
        purpose="bench",
    )
    start = time.monotonic()
    done = model.complete(prompt)
    seconds = max(time.monotonic() - start, 1e-9)
    return done[0].prompt_tokens, max(1, sum(d.tokens for d in done)), seconds


def bandwidth() -> float:
    """Return the bytes per second that one thread reads from memory."""
    table = b"\x01" * _READ
    best = 0.0
    for _ in range(4):
        start = time.monotonic()
        table.find(b"\x02")  # not there: each byte is read once
        best = max(best, _READ / max(time.monotonic() - start, 1e-9))
    return best
