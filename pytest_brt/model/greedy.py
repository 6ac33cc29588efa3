"""Keeps what a model answered where it can answer but one thing: it is not asked that twice."""

from __future__ import annotations

import threading
from dataclasses import replace

from pytest_brt.codec import content_id, to_json
from pytest_brt.model.base import Completion, Finish, Model, Prompt


class AskedOnce:
    """A model that is asked each greedy question once in a run; safe to use from many threads.

    Several strategies may come to the same test, and ask the same of it. Where tokens are drawn,
    each answer is another one, and all of them are asked for.
    """

    def __init__(self, model: Model) -> None:
        """Wrap `model`, which is asked what was not asked before."""
        self.model = model
        self.name = model.name
        self._lock = threading.Lock()
        self._known: dict[str, Completion] = {}

    @property
    def context(self) -> int:
        """The model's context."""
        return self.model.context

    @property
    def notes(self) -> tuple[str, ...]:
        """The model's own remarks."""
        return self.model.notes

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return what the model answers, or has answered; what is known costs nothing.

        Raises:
            ModelProblem: as the model does.
        """
        if prompt.samples != 1 or prompt.sampling.temperature > 0:
            return self.model.complete(prompt)
        key = _key(prompt)
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return (replace(known, prompt_tokens=0, evaluated=0, tokens=0, seconds=0.0, notes=()),)
        completions = self.model.complete(prompt)
        for completion in completions:
            if completion.finish is Finish.STOP:  # else more time, or more room, gives more
                with self._lock:
                    self._known[key] = completion
        return completions

    def count(self, asked: str | Prompt) -> int:
        """Return the model's count."""
        return self.model.count(asked)

    def close(self) -> None:
        """Close the model."""
        self.model.close()


def _key(prompt: Prompt) -> str:
    """Return what decides the answer; neither time nor seed does."""
    asked = replace(prompt, seconds=0.0, purpose="", sampling=replace(prompt.sampling, seed=0))
    return content_id(to_json(asked))
