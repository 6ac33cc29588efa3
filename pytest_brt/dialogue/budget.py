"""When a dialogue has to end: its limits, its repetitions, and how many tokens things have."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pytest_brt.dialogue.action import Action
from pytest_brt.model.base import Message, Model, Prompt, Role
from pytest_brt.types import Cost, Ending, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a dialogue may use up."""

    #: Turns of the model, those that came to nothing included.
    steps: int
    #: Tokens evaluated and made in all; 0 sets no limit.
    tokens: int = 0
    #: When it must be over, as `time.monotonic` counts.
    deadline: float = math.inf

    def spent(self, steps: Sequence[Step]) -> Ending | None:
        """Say which limit is reached after `steps`; None when another one may be taken."""
        if len(steps) >= self.steps:
            return Ending.STEPS
        cost = sum((step.cost for step in steps), Cost())
        if self.tokens and cost.evaluated + cost.tokens >= self.tokens:
            return Ending.TOKENS
        if time.monotonic() >= self.deadline:
            return Ending.TIME
        return None

    def seconds(self) -> float:
        """Return the seconds that are left for one answer; 0 when there is no limit."""
        if math.isinf(self.deadline):
            return 0.0
        return max(0.1, self.deadline - time.monotonic())


class Counter:
    """Counts tokens as a model does, each text once; safe to use from many threads."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._known: dict[str, int] = {}
        self._empty = -1
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        """Return how many tokens `text` has.

        Raises:
            ModelProblem: the model cannot be reached.
        """
        with self._lock:
            known = self._known.get(text)
        if known is None:
            known = self._model.count([text])[0]
            with self._lock:
                self._known[text] = known
        return known

    def of(self, messages: Sequence[Message]) -> int:
        """Return the tokens of a conversation, what the template puts around it included.

        At most a few more than there are: what joins two messages is counted with each.
        """
        return sum(self(message.text) + self._around() for message in messages)

    def _around(self) -> int:
        """Return the tokens that the template puts around one message, at most."""
        if self._empty < 0:
            one = Message(role=Role.USER, text="x")
            other = Message(role=Role.ASSISTANT, text="x")
            whole = self._model.measure(Prompt(messages=(one, other, one)))
            self._empty = max(1, -(-(whole - 3 * self("x")) // 3) + 1)
        return self._empty


#: Fact of a step that was refused as a repeat.
REPEAT = "repeat"
#: Steps in a row that came to nothing because they repeat an earlier one, before it ends.
_PATIENCE = 4
#: Of so many last steps as many as that may not be equal: a loop need not be one step long.
_LAST, _EQUAL = 8, 4


def why_repeat(action: Action, steps: Sequence[Step], allowed: Collection[str]) -> str:
    """Return what to tell a model whose action was done before and cannot do anything new, or "".

    The same action is no repeat if files were changed since: running a test again after an edit
    is right. The second repeat in a row is told in other words than the first.
    """
    earlier = _same(action.key, steps)
    if earlier is None:
        return ""
    if not steps[-1].fact(REPEAT):
        seen = " ".join(earlier.observation.split())[:160]
        return (
            f"You did exactly this in step {earlier.number}, and nothing has changed since. "
            f"It said: {seen} Do something else."
        )
    others = [name for name in allowed if name != action.name]
    return (
        f"Again the same as step {earlier.number}. Your next action must be totally different "
        f"from {action.name}: take {' or '.join(others) or 'other arguments'}."
    )


def rounds(steps: Sequence[Step]) -> int:
    """Return how many times the last step was done, when it is time to end for that; else 0."""
    repeats = sum(1 for _ in takewhile(lambda step: step.fact(REPEAT), reversed(steps)))
    same = _equals(steps)
    return max(repeats + 1, same) if repeats >= _PATIENCE or same >= _EQUAL else 0


def _equals(steps: Sequence[Step]) -> int:
    """Return how often the last step was done among the last eight, itself included.

    A step counts when it was refused, or when nothing has been changed since.
    """
    count, changed = 0, False
    for step in reversed(steps[-_LAST:]):
        same = (step.key or step.reply) == (steps[-1].key or steps[-1].reply)
        count += same and bool(step.problem or not changed)
        changed |= bool(step.changes)
    return count


def _same(key: str, steps: Sequence[Step]) -> Step | None:
    """Return the step since the last change that did the same, None when there is none."""
    for step in reversed(steps):
        if step.key == key and not step.fact(REPEAT):
            # An edit that changed something is not to be done twice either.
            return step
        if step.changes:
            return None
    return None
