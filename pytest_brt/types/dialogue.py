"""Dialogues with a model: what was asked and done, how it ended, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.outcome import Verdict
from pytest_brt.types.patch import FileChange


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
class Cost:
    """What was spent on a model."""

    calls: int = 0
    #: Tokens of the prompts, and those of them that had to be evaluated.
    prompt_tokens: int = 0
    evaluated: int = 0
    #: Tokens made.
    tokens: int = 0
    #: Wall-clock seconds of waiting for it.
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """Return the sum of both."""
        return Cost(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            evaluated=self.evaluated + other.evaluated,
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of a dialogue: what a model replied, and what came of it."""

    #: 1-based.
    number: int
    #: As it came.
    reply: str
    #: Name of the action after mending, "" when the reply held none.
    action: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    thought: str = ""
    #: What the model is shown of it.
    observation: str = ""
    #: Why it was not carried out, or ""; part of the observation too.
    problem: str = ""
    #: What of the reply was put right, as in "action 'search' read as 'code_search'".
    mended: tuple[str, ...] = ()
    #: Files as they are after it, of the private tree.
    changes: tuple[FileChange, ...] = ()
    #: What a test did, when one was run.
    verdict: Verdict | None = None
    #: Whatever else the strategy wants to remember, by name.
    facts: tuple[tuple[str, str], ...] = ()
    #: Equal for the same action with the same arguments and code.
    key: str = ""
    cost: Cost = Cost()
    #: Seconds that the action took.
    seconds: float = 0.0

    def argument(self, name: str, default: str = "") -> str:
        """Return the argument called `name`."""
        return dict(self.arguments).get(name, default)

    def fact(self, name: str, default: str = "") -> str:
        """Return what was remembered as `name`."""
        return dict(self.facts).get(name, default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A whole dialogue."""

    steps: tuple[Step, ...]
    ending: Ending
    #: One line, for the reader.
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDialogue:
    """A dialogue as the record of a run holds it."""

    #: Id of the report.
    issue: str
    #: As in "agent-03".
    name: str
    #: Title of the report, or "" when that was not kept.
    title: str = ""
    steps: tuple[Step, ...] = ()
    #: None when it was interrupted.
    ending: Ending | None = None
    reason: str = ""

    @property
    def ended(self) -> str:
        """How it ended, in words."""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.ending or 'interrupted'}{reason}"

    @property
    def cost(self) -> Cost:
        """What the model cost."""
        return sum((step.cost for step in self.steps), Cost())
