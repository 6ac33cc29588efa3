"""What the worker process and its parent say to each other: one JSON object per line."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.model.base import Completion, Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The first line: what to load, and how."""

    path: str
    #: The chat template's text.
    template: str
    cells: int
    longest: int
    lanes: int
    sequences: int
    #: Tokens of one pass.
    batch: int = 512
    cache_type: str = "f16"
    threads: int
    gpu_layers: int = -1
    #: Let llama.cpp rearrange the weights for this CPU.
    rearrange: bool = True
    state_dir: str = ""
    #: Bytes of memory for prefixes that had to leave the context.
    spare_bytes: int = 0
    #: LoRA adapters that prompts may ask for.
    adapters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Something to do."""

    #: ask, count, measure, drop
    do: str
    id: int
    prompt: Prompt | None = None
    #: Numbers of the samples that are wanted of the prompt; () for all.
    numbers: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    #: Path of the adapter to answer with, or "".
    adapter: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The worker has loaded its model."""

    version: str
    gpu: bool
    recurrent: bool
    cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of an order; id 0 answers `Start`."""

    id: int
    #: One line when it failed, else "".
    problem: str = ""
    ready: Ready | None = None
    completions: tuple[Completion, ...] = ()
    #: Number of the one sample in it, when others are still to come; -1 for the whole answer.
    part: int = -1
    counts: tuple[int, ...] = ()
