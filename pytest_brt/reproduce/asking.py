"""Asks a model on behalf of a strategy: within its time, and keeping count of the cost."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from pytest_brt.codec import content_id
from pytest_brt.model.base import Completion, Model, Prompt
from pytest_brt.types import Cost

#: Begins an answer that is one block of code.
PREFILL = "```python\n"
#: Ends it: the fence on a line of its own. One with a language begins a block, where a model
#: that cannot be begun for talks first.
STOP = ("\n```\n",)


class Asker:
    """Asks one model; not for several threads."""

    def __init__(self, model: Model, *, deadline: float = math.inf) -> None:
        """Ask `model` until `deadline`, as `time.monotonic` counts."""
        self.model = model
        self.deadline = deadline
        self.cost = Cost()

    @property
    def over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() >= self.deadline

    def ask(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the answers to `prompt`, cut when the time is over.

        Raises:
            ModelProblem: the model cannot be reached, or the prompt does not fit.
        """
        if not math.isinf(self.deadline):
            left = max(0.1, self.deadline - time.monotonic())
            prompt = replace(prompt, seconds=min(prompt.seconds or left, left))
        begin = time.monotonic()
        answers = self.model.complete(prompt)
        self.cost += Cost(
            calls=1,
            prompt_tokens=max((answer.prompt_tokens for answer in answers), default=0),
            evaluated=sum(answer.evaluated for answer in answers),
            tokens=sum(answer.tokens for answer in answers),
            seconds=time.monotonic() - begin,
        )
        return answers


def seed_of(*parts: object) -> int:
    """Return a seed that depends on `parts` only: the issue, the strategy, the run.

    >>> seed_of("issue", 0) == seed_of("issue", 0)
    True
    """
    return int(content_id(*(str(part) for part in parts)), 16) % 2**31


def answer_room(model: Model, wanted: int) -> int:
    """Return how long an answer may be: `wanted` tokens, of a small context a quarter."""
    return max(16, min(wanted, model.context // 4))
