"""What an agent did, step by step: what was asked for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from pytest_brt.types.candidate import CandidateTest
from pytest_brt.types.fact import Fact
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


# -- what an action did beyond changing files --


class TestsWritten(Fact, frozen=True, kw_only=True):
    """Tests were put into a file, in place of those that the agent wrote there before."""

    __test__: ClassVar[bool] = False

    path: str
    tests: tuple[CandidateTest, ...]


class TestsRan(Fact, frozen=True, kw_only=True):
    """Tests were run."""

    __test__: ClassVar[bool] = False

    path: str
    verdict: Verdict
    #: The fixes that were tried by them and taken back.
    diffs: tuple[str, ...] = ()
    #: Why no failing test among them can be a candidate; "" when one can, or none was judged.
    objection: str = ""

    @property
    def stands(self) -> bool:
        """Whether it fails for a reason that can be named."""
        return self.verdict is Verdict.FAIL and not self.objection


class FixSource(StrEnum):
    """Who wrote a fix."""

    #: The agent, in a dialogue.
    AGENT = "agent"
    #: A model that was asked for variants of the agent's.
    VARIANT = "variant"


class Finished(Fact, frozen=True, kw_only=True):
    """The work was declared done, and that was accepted."""


Effect = TestsWritten | TestsRan | Finished


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
    #: What else it did.
    effects: tuple[Effect, ...] = ()
    #: Seconds that the action took, without those of models.
    seconds: float = 0.0

    @property
    def action(self) -> str:
        """The name of the action, "" when the reply named none."""
        return self.call.action if self.call else ""

    @property
    def verdict(self) -> Verdict | None:
        """What the tests did that it ran, None when it ran none."""
        ran = [effect.verdict for effect in self.effects if isinstance(effect, TestsRan)]
        return ran[-1] if ran else None

    def argument(self, name: str) -> str:
        """Return the argument called `name`, "" without one."""
        return dict(self.call.arguments).get(name, "") if self.call else ""
