"""Keeps every prompt and its answers, to look at, to play back, and for bug reports."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.codec import content_id, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.model.base import Completion, Model, Prompt

#: Name of the file in the folder of a run.
RECORDING = "replies.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A prompt and what a model answered."""

    id: str
    model: str
    purpose: str
    prompt: Prompt
    completions: tuple[Completion, ...]


def prompt_id(prompt: Prompt) -> str:
    """Return the id of what is asked; its purpose and time limit are not part of it."""
    return content_id(to_json(replace(prompt, purpose="", seconds=0.0)))


class RecordedModel:
    """A model whose prompts and answers are written down."""

    def __init__(self, model: Model, folder: str) -> None:
        """Record to `replies.jsonl` in `folder`, which is made if need be.

        Raises:
            StoreProblem: the folder cannot be written.
        """
        self.model = model
        self.path = Path(folder) / RECORDING
        self.name = model.name
        self.context = model.context
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
        except OSError as error:
            raise StoreProblem(
                f"cannot record to {str(self.path)!r}: {error.strerror} (--brt-record DIR)"
            ) from error

    @property
    def notes(self) -> tuple[str, ...]:
        """The model's own remarks."""
        return self.model.notes

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Ask the model, and write down what it was asked and answered.

        Raises:
            ModelProblem: as the model does.
            StoreProblem: the record cannot be written.
        """
        completions = self.model.complete(prompt)
        record = Recorded(
            id=prompt_id(prompt),
            model=self.name,
            purpose=prompt.purpose,
            prompt=prompt,
            completions=completions,
        )
        try:
            with self._lock, self.path.open("a", encoding="utf-8") as file:
                file.write(to_json(record) + "\n")
        except OSError as error:
            raise StoreProblem(f"cannot record to {str(self.path)!r}: {error.strerror}") from error
        return completions

    def count(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Return the model's count."""
        return self.model.count(texts)

    def measure(self, prompt: Prompt) -> int:
        """Return the model's measure."""
        return self.model.measure(prompt)

    def close(self) -> None:
        """Close the model."""
        self.model.close()
