"""What an agent did, step by step: what was asked for, what came of it, and what that did."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from pytest_brt.types.candidate import CandidateTest
from pytest_brt.types.cost import Cost
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


class FixTried(Fact, frozen=True, kw_only=True):
    """A fix was run against the tests, whatever came of it."""

    #: Equal for fixes that make the same program.
    key: str
    diff: str
    source: FixSource
    #: Whether it passes the bug tests that are to be trusted; where there is none, whether it
    #: breaks no existing test.
    passes: bool
    #: How many existing tests it breaks.
    breaks: int = 0
    #: What the bug was held to be, or "".
    hypothesis: str = ""

    @property
    def stands(self) -> bool:
        """Whether nothing that was run speaks against it."""
        return self.passes and not self.breaks


class Finished(Fact, frozen=True, kw_only=True):
    """The work was declared done, and that was accepted."""


Effect = TestsWritten | TestsRan | FixTried | Finished


# -- what came of a step --


class Done(Fact, frozen=True, kw_only=True):
    """The action was carried out."""

    #: Files of the private tree as they are now; only those that it changed.
    changes: tuple[FileChange, ...] = ()
    effects: tuple[Effect, ...] = ()


class NotDone(Fact, frozen=True, kw_only=True):
    """The action was understood, and not carried out."""


class Repeated(Fact, frozen=True, kw_only=True):
    """The same action as in an earlier step, with nothing changed in between."""

    step: int


class Unreadable(Fact, frozen=True, kw_only=True):
    """The reply asks for nothing that can be carried out."""

    #: The action that was meant, as far as that is known.
    action: str = ""


StepResult = Done | NotDone | Repeated | Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of a dialogue: what a model replied, and what came of it."""

    #: 1-based.
    number: int
    #: As it came.
    reply: str
    result: StepResult = field(default_factory=Done)
    #: What the model is shown of it.
    observation: str = ""
    #: None when the reply cannot be carried out.
    call: Call | None = None
    thought: str = ""
    #: What of the reply was corrected, as in "path 'core.py' read as 'pkg/core.py'".
    corrections: tuple[str, ...] = ()
    cost: Cost = field(default_factory=Cost)
    #: Seconds that the action took, without those of models.
    seconds: float = 0.0

    @property
    def action(self) -> str:
        """The name of the action that was meant, "" when the reply named none."""
        if isinstance(self.result, Unreadable):
            return self.result.action
        return self.call.action if self.call else ""

    @property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """The arguments of the action."""
        return self.call.arguments if self.call else ()

    @property
    def is_done(self) -> bool:
        """Whether the action was carried out."""
        return isinstance(self.result, Done)

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The files of the private tree that it changed, as they are after it."""
        return self.result.changes if isinstance(self.result, Done) else ()

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What else it did."""
        return self.result.effects if isinstance(self.result, Done) else ()

    @property
    def fixes(self) -> tuple[FixTried, ...]:
        """The fixes that it tried."""
        return tuple(effect for effect in self.effects if isinstance(effect, FixTried))

    @property
    def verdict(self) -> Verdict | None:
        """What the tests did that it ran, None when it ran none."""
        ran = [effect.verdict for effect in self.effects if isinstance(effect, TestsRan)]
        if self.fixes:
            ran.append(Verdict.PASS if any(fix.stands for fix in self.fixes) else Verdict.FAIL)
        return ran[-1] if ran else None

    def argument(self, name: str) -> str:
        """Return the argument called `name`, "" without one."""
        return dict(self.arguments).get(name, "")
