"""When a dialogue has to end, and how many tokens things have."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

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
