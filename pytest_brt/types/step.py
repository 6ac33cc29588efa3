"""What an agent did, step by step: what was asked for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.outcome import Verdict
from pytest_brt.types.patch import FileChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An action that a model asked for, as it was understood."""

    action: str
    #: In the order of the action's arguments; all of them, with their defaults.
    arguments: tuple[tuple[str, str], ...] = ()
    #: The fenced blocks that came with it, each ending with a newline.
    code: tuple[str, ...] = ()


class FixSource(StrEnum):
    """Who wrote a fix."""

    #: The agent, in a dialogue.
    AGENT = "agent"
    #: A model that was asked for variants of the agent's.
    VARIANT = "variant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of a dialogue: what a model replied, and what came of it."""

    #: 1-based.
    number: int
    #: As it came.
    reply: str
    #: What the model is shown of it.
    observation: str = ""
    #: None when the reply cannot be read.
    call: Call | None = None
    thought: str = ""
    #: Whether the action was carried out.
    is_done: bool = False
    #: Files of the private tree that it changed, as they are after it.
    changes: tuple[FileChange, ...] = ()
    #: What the tests did that it ran, None when it ran none.
    verdict: Verdict | None = None
    #: The fixes that it tried and took back.
    diffs: tuple[str, ...] = ()
    #: Seconds that the action took, without those of models.
    seconds: float = 0.0

    @property
    def action(self) -> str:
        """The name of the action, "" when the reply named none."""
        return self.call.action if self.call else ""
