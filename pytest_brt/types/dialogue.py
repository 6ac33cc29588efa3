"""Dialogues with a model: their steps, and how they ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.step import Step


class Ending(StrEnum):
    """Why a dialogue with a model ended (paper 001 reports these)."""

    #: The model asked for it, and was allowed to.
    FINISH = "finish"
    STEPS = "steps"
    #: Nothing more fits the model's context, or the tokens allowed are used up.
    TOKENS = "tokens"
    TIME = "time"
    #: The same action again and again.
    LOOP = "loop"
    #: The model could not be asked any more.
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A whole dialogue."""

    steps: tuple[Step, ...]
    ending: Ending
    #: One line, for the reader.
    reason: str = ""
