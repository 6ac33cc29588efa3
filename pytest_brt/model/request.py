"""What a model is asked, what it answers, and what that costs."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_brt.types import Cost
from pytest_brt.types.note import value

#: Bytes per token of code and English, and tokens around a message: hardly ever too many.
_BYTES, _MARKUP = 3, 8


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    #: "system", "user" or "assistant".
    role: str
    content: str


@value
class Request:
    """A conversation, and how its replies are sampled."""

    messages: tuple[Message, ...]
    #: Independent replies; reply number i is drawn with ``seed + i``.
    n: int = 1
    temperature: float = 0.7
    top_p: float = 0.95
    seed: int = 0
    #: Longest reply.
    max_tokens: int = 512
    #: A reply ends before any of these.
    stop: tuple[str, ...] = ()
    #: JSON schema of the reply, as text; "" for free text.
    schema: str = ""


@value
class Reply:
    """One answer of a model."""

    text: str
    #: Whether it ended before the model was done.
    is_cut: bool = False


def estimate(messages: Sequence[Message]) -> int:
    """Return a number of tokens that a conversation hardly ever exceeds.

    >>> estimate([Message("user", "def f(): pass")])
    13
    """
    return sum(
        len(one.content.encode("utf-8", "replace")) // _BYTES + 1 + _MARKUP
        for one in messages
    )


@dataclass(slots=True)
class Usage:
    """What one piece of work spends on models, and when it must stop; for many threads."""

    #: By `time.monotonic`.
    deadline: float = math.inf
    cost: Cost = field(default_factory=Cost)
    #: Why a model could not be asked, "" while all could.
    problem: str = ""
    #: That of the work that this is a part of.
    above: Usage | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def unheard(self) -> str:
        """Why no model ever answered though one was asked, else ""."""
        return "" if self.cost.calls else self.problem

    def part(self, deadline: float) -> Usage:
        """Return what a part of this work spends."""
        return Usage(deadline=deadline, above=self)

    def add(self, cost: Cost) -> None:
        """Add what a request cost that was answered."""
        with self._lock:
            self.cost += cost
        if self.above is not None:
            self.above.add(cost)

    def fail(self, problem: str) -> None:
        """Note that a model could not be asked."""
        self.problem = problem
        if self.above is not None:
            self.above.fail(problem)

    @property
    def is_over(self) -> bool:
        """Whether the deadline has come."""
        return time.monotonic() >= self.deadline
