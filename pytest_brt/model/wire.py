"""What the process of a model and its parent say to each other: one JSON object per line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_brt.model.base import Completion, Prompt
from pytest_brt.model.memory import MemoryPlan
from pytest_brt.types.model import ModelFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The first line: what to load or to serve, and how."""

    path: str
    #: The chat template's text; a server takes the file's own for "".
    template: str
    plan: MemoryPlan
    #: Layers put on the GPU, those whose experts stay in memory, and how the context is kept: as
    #: in the settings.
    gpu_layers: int = -1
    cpu_experts: int = 0
    cache_type: str = "f16"
    #: Let llama.cpp rearrange the weights for this CPU (worker only).
    rearrange: bool = True
    #: The program llama-server, or "" for the package that has one.
    program: str = ""
    #: Where the server listens: a path ending in ".sock", in a folder that is ours alone.
    socket: str = ""

    @property
    def name(self) -> str:
        """What the model is called: the name of its file."""
        return Path(self.path).name


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Something to do: samples of a prompt, or tokens to count."""

    id: int = 0
    prompt: Prompt | None = None
    #: Numbers of the samples that are wanted.
    numbers: tuple[int, ...] = ()
    #: What tokens are to be counted of.
    count: str | Prompt = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of an order; id 0 answers `Start`."""

    id: int
    #: Why it failed, as a fact where it is one; else a line, or "".
    fault: ModelFault | None = None
    problem: str = ""
    #: Of `Start`, that it was done; and whether the model is on a GPU.
    ready: bool = False
    gpu: bool = False
    #: The answer of one sample, and the sample's number; the others come by themselves.
    completion: Completion | None = None
    sample: int = -1
    count: int = 0
