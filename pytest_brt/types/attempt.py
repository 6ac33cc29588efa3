"""What was tried, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.candidate import JudgedTest
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
class Attempt:
    """What one run of one strategy made of one issue."""

    issue: str
    strategy: str
    #: 0-based number of the run within its strategy.
    index: int
    #: Every test considered, best first.
    tests: tuple[JudgedTest, ...]
    #: What was looked for and not found, for the reader of an honest miss.
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    #: What a model was paid for it.
    cost: Cost = Cost()
    #: The dialogues with a model, in order; none where it was not a dialogue.
    trajectories: tuple[Trajectory, ...] = ()
    #: How each sample of a prompt ended, for ways of working that have no dialogue.
    endings: tuple[Ending, ...] = ()
    #: Why the model could not do its part, though the attempt has a result; "" when it could.
    trouble: str = ""
