"""Adds up what a model costs, and stops asking it when the time is over."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pytest_brt.errors import ModelProblem, OutOfTime
from pytest_brt.model.base import Completion, Model, Prompt, WrappedModel
from pytest_brt.types import Cost

#: Seconds after the deadline in which answers of a moment are still had, so that whoever asks
#: can come to an end with what there is.
_GRACE = 10.0


def cost_of(completions: Sequence[Completion]) -> Cost:
    """Return what the answers to one prompt cost."""
    return Cost(
        calls=1,
        prompt_tokens=sum(done.prompt_tokens for done in completions),
        evaluated=sum(done.evaluated for done in completions),
        tokens=sum(done.tokens for done in completions),
        seconds=max((done.seconds for done in completions), default=0.0),
    )


class Meter:
    """Adds up what several models cost; safe to use from many threads."""

    def __init__(self, above: Meter | None = None) -> None:
        """Count from nothing; `above` is told too whether models answer."""
        #: What was spent until now.
        self.cost = Cost()
        self._lock = threading.Lock()
        self._above = above
        #: Why a model could not be asked, "" while all could.
        self.problem = ""
        self._is_heard = False

    @property
    def unheard(self) -> str:
        """Why no model ever answered though one was asked, else ""."""
        return "" if self._is_heard else self.problem

    def hear(self) -> None:
        """Note that a model gave an answer, or the start of one."""
        self._is_heard = True
        if self._above is not None:
            self._above.hear()

    def fail(self, problem: str) -> None:
        """Note that a model could not be asked."""
        self.problem = problem
        if self._above is not None:
            self._above.fail(problem)

    def add(self, cost: Cost) -> None:
        """Add what one call cost."""
        with self._lock:
            self.cost += cost


class MeteredModel(WrappedModel):
    """A model whose answers are paid for, in wall-clock time and tokens."""

    def __init__(self, model: Model, meter: Meter, deadline: float = math.inf) -> None:
        """Wrap `model`, which others may use at the same time, and tell `meter` what it costs.

        An answer that is not finished by the `deadline`, as `time.monotonic` counts, is cut, and
        a little later nobody is asked any more.
        """
        super().__init__(model)
        self.meter = meter
        self.deadline = deadline

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Ask the model, for no longer than there is time.

        Raises:
            OutOfTime: the time is over.
            ModelProblem: as the model does.
        """
        begin = time.monotonic()
        if begin >= self.deadline + _GRACE:
            raise OutOfTime("the time for this run is used up")
        if not math.isinf(self.deadline):
            left = self.deadline - begin
            seconds = min(left, prompt.seconds) if prompt.seconds else left
            prompt = replace(prompt, seconds=max(0.1, seconds))
        with self._watched():
            completions = self.model.complete(prompt)
        # Not every model counts tokens; the words that the prompt puts first are no answer.
        if any(done.tokens or done.text != prompt.prefill for done in completions):
            self.meter.hear()
        elif prompt.seconds:
            self.meter.fail(
                f"{self.model.name}: no answer within {prompt.seconds:.1f} s (give it more time, "
                "--brt-budget 30m, or take a smaller model)"
            )
        self.meter.add(replace(cost_of(completions), seconds=time.monotonic() - begin))
        return completions

    def count(self, asked: str | Prompt) -> int:
        """Return the model's count."""
        with self._watched():
            return self.model.count(asked)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Tell the meter of a model that fails; where none was chosen, none was asked for."""
        try:
            yield
        except ModelProblem as problem:
            if self.model.name != "none":
                self.meter.fail(str(problem))
            raise

    def close(self) -> None:
        """Leave the model open: it belongs to somebody else."""
