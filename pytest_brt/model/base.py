"""What the rest of the tool knows of a model: prompts, replies, and how to ask."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal, Protocol

from msgspec import Meta

from pytest_brt.codec import content_id, to_json
from pytest_brt.errors import ModelProblem, Overflowed
from pytest_brt.render.models import fault_words
from pytest_brt.types.model import AnswersLost, ModelFault, ModelNote, PromptTooLarge


class Role(StrEnum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation.

    A conversation grows by appending the reply as it came: ``Message(role=Role.ASSISTANT,
    text=completion.text)``. A model that keeps token ids then evaluates only what is new.
    """

    role: Role
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are chosen."""

    #: 0 always takes the likeliest token.
    temperature: float = 0.7
    #: Smallest set of tokens whose probabilities sum up to this; 1 takes all.
    top_p: float = 0.95
    #: Only the k likeliest tokens; 0 takes all, which sorts the whole vocabulary at each token.
    top_k: int = 40
    #: Sample i of a prompt is drawn with seed + i.
    seed: int = 0
    #: Longest answer; tokens of thinking are not counted here.
    max_tokens: int = 512
    #: The answer ends before any of these.
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The form an answer must have; `grammar` makes them from types."""

    #: llama.cpp's grammar notation, with a rule named "root".
    gbnf: str
    #: JSON schema (as text) when the answer is one JSON value and nothing else, or "".
    schema: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A question to a model, and how it is to be answered."""

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    #: Independent answers wanted; they share the evaluation of the prompt.
    samples: int = 1
    grammar: Grammar | None = None
    #: The start of the answer, part of the reply's text.
    prefill: str = ""
    #: Tokens a thinking model may spend before it answers; 0 asks for none.
    thinking: int = 0
    #: Whether it deserves thought: a model that thinks then gets the budget of its settings.
    weighty: bool = False
    #: Wall-clock seconds after which the answer is cut; 0 sets no limit.
    seconds: float = 0.0
    #: For records, as in "libro" or "edit"; does not reach the model.
    purpose: str = ""


class Finish(StrEnum):
    """Why an answer ended."""

    #: The model ended it, or a stop string did, or the grammar was complete.
    STOP = "stop"
    #: `max_tokens`, or the end of the context.
    LENGTH = "length"
    #: `seconds` were over.
    TIME = "time"
    #: The same few tokens over and over.
    LOOP = "loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer."""

    #: Without thinking, control tokens and stop string; with the prefill.
    text: str
    finish: Finish
    seed: int = 0
    #: What the model thought before the answer.
    thinking: str = ""
    #: Tokens of the whole prompt.
    prompt_tokens: int = 0
    #: Tokens of the prompt that had to be evaluated for this answer.
    evaluated: int = 0
    #: Tokens made, thinking included.
    tokens: int = 0
    seconds: float = 0.0
    #: For the record.
    notes: tuple[ModelNote, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether it ended before the model was done."""
        return self.finish is not Finish.STOP


def prompt_id(prompt: Prompt) -> str:
    """Return the id of what is asked; its purpose and time limit are not part of it."""
    return content_id(to_json(replace(prompt, purpose="", seconds=0.0)))


class ModelFailed(ModelProblem):
    """A model could not be asked, or gave no answer, for a reason that is a fact."""

    def __init__(self, fault: ModelFault) -> None:
        super().__init__(fault_words(fault))
        self.fault = fault


class TooLong(ModelFailed, Overflowed):
    """A prompt does not fit the model's context."""

    def __init__(self, fault: PromptTooLarge) -> None:
        super().__init__(fault)


def failure(fault: ModelFault) -> ModelFailed:
    """Return the error that tells of `fault`."""
    return TooLong(fault) if isinstance(fault, PromptTooLarge) else ModelFailed(fault)


def in_the_rest(prompt: Prompt, begin: float) -> Prompt:
    """Return the prompt with what is left of its seconds since `begin`, by `time.monotonic`."""
    if not prompt.seconds:
        return prompt
    return replace(prompt, seconds=max(0.01, prompt.seconds - (time.monotonic() - begin)))


def answers_had(
    prompt: Prompt, found: Mapping[int, Completion], problem: ModelProblem | None
) -> tuple[Completion, ...]:
    """Return the answers that were `found`, by the number of their sample.

    Where a `problem` kept others, their notes say so.

    Raises:
        ModelProblem: the problem, where there is no answer at all.
    """
    answers = tuple(found[number] for number in sorted(found))
    if problem is None:
        return answers
    if not answers:
        raise problem
    lost = prompt.samples - len(answers)
    note = AnswersLost(count=lost, of=prompt.samples, said=str(problem))
    return tuple(replace(answer, notes=(*answer.notes, note)) for answer in answers)


class Model(Protocol):
    """Something that answers prompts; safe to call from many threads."""

    @property
    def name(self) -> str:
        """What it is called in headers and records, as in "qwen2.5-coder-7b-q4_0.gguf"."""
        ...

    @property
    def context(self) -> int:
        """Tokens that a prompt and its answer can have together."""
        ...

    @property
    def notes(self) -> tuple[ModelNote, ...]:
        """What the run's header is to say of it."""
        ...

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return `prompt.samples` answers, in the order of their seeds.

        Where the model was lost on the way they are fewer, and their notes say so.

        Raises:
            ModelProblem: the model cannot be reached, or the prompt does not fit.
        """
        ...

    def count(self, asked: str | Prompt) -> int:
        """Return how many tokens a text has, or a prompt once the template is around it."""
        ...

    def close(self) -> None:
        """End every process and connection; what is being asked ends in ModelProblem."""
        ...


class WrappedModel:
    """A model around another one: all but how it answers is the other's."""

    def __init__(self, model: Model) -> None:
        """Wrap `model`."""
        self.model = model
        self.name = model.name

    @property
    def context(self) -> int:
        """The model's context, as far as it is known by now."""
        return self.model.context

    @property
    def notes(self) -> tuple[ModelNote, ...]:
        """The model's own notes."""
        return self.model.notes

    def count(self, asked: str | Prompt) -> int:
        """Return the model's count."""
        return self.model.count(asked)

    def close(self) -> None:
        """Close the model."""
        self.model.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user decides about models, for every backend."""

    #: Tokens of context; 0 takes what fits the model and the memory.
    context: Annotated[int, Meta(ge=0)] = 0
    #: Threads of the model; 0 takes the physical cores: tests run while it waits, not meanwhile.
    threads: Annotated[int, Meta(ge=0)] = 0
    #: Tokens that a thinking model may spend on a question that deserves it.
    thinking: Annotated[int, Meta(ge=0)] = 512
    #: What runs a GGUF file: "auto", "inprocess" or "llama-server".
    engine: str = "auto"
    #: Layers put on the GPU; -1 as many as fit, when the build can.
    gpu_layers: Annotated[int, Meta(ge=-1)] = -1
    #: Layers whose experts stay in the computer's memory (llama-server only); 0 for none.
    cpu_experts: Annotated[int, Meta(ge=0)] = 0
    #: How the context is kept: "f16", "q8_0" or "q4_0".
    cache_type: Literal["f16", "q8_0", "q4_0"] = "f16"
    #: Folder that names of models are looked up in; "" takes the user's.
    models_dir: str = ""
    #: Seconds for which a server that has not answered yet is tried: it may be starting.
    patience: Annotated[float, Meta(ge=0, le=1e6)] = 1.0
    #: Seconds for which one that has answered may be gone.
    comeback: Annotated[float, Meta(ge=0, le=1e6)] = 20.0


#: Bytes per token of source code and English in current vocabularies, on the low side.
_BYTES_PER_TOKEN = 3.0
#: Tokens of the markup around one message.
_MARKUP = 8


def estimate(asked: str | Prompt, bytes_per_token: float = _BYTES_PER_TOKEN) -> int:
    """Return a number of tokens that a text, or a prompt with its template, hardly ever exceeds.

    >>> estimate("def f(): pass")
    5
    """
    if isinstance(asked, str):
        return int(-(-len(asked.encode("utf-8", "replace")) // bytes_per_token))
    texts = [*(message.text for message in asked.messages), asked.prefill]
    return sum(estimate(t, bytes_per_token) + _MARKUP for t in texts) - _MARKUP
