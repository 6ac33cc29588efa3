"""Keeps what a model answered: nothing is asked twice, in this run or in a later one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from pytest_brt.bounded import bounded_text
from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.model.base import Completion, Model, Prompt, WrappedModel, prompt_id
from pytest_brt.model.catalogue import digest_of
from pytest_brt.store import write_text

#: Strategies that are named after a paper: they ask as often as it does.
_OF_PAPERS = frozenset({"libro", "agent", "passerine", "repairagent"})


class KeptAnswers(WrappedModel):
    """A model that is asked each question once; safe to use from many threads.

    A question is the whole prompt, how tokens are drawn, the seed of the sample, and which model
    is asked: by the digest of its file, or that which Ollama tells. Of a model that nobody can
    tell from others (its ``identity`` is empty, or missing) only answers to greedy questions are
    kept, and only for this run. An answer that was cut is none: more time, or room, gives more.
    """

    def __init__(self, model: Model, folder: Path | None = None) -> None:
        """Wrap `model`, and keep its answers in `folder` for later runs; None keeps none."""
        super().__init__(model)
        self.folder = folder
        self._lock = threading.Lock()
        self._known: dict[str, Completion] = {}
        self._told: str | None = None

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return what the model answers, or has answered; what is known costs nothing.

        Raises:
            ModelProblem: as the model does.
        """
        identity = self._identity()
        is_greedy = prompt.samples == 1 and prompt.sampling.temperature <= 0
        if not (identity or is_greedy):
            return self.model.complete(prompt)
        keys = [f"{identity}-{_key(prompt, number)}" for number in range(prompt.samples)]
        found = {number: known for number, key in enumerate(keys) if (known := self._find(key))}
        answers = []
        for is_known, group in groupby(range(prompt.samples), key=found.__contains__):
            numbers = list(group)
            if is_known:
                answers += [_at_no_cost(found[number]) for number in numbers]
                continue
            seed = prompt.sampling.seed + numbers[0]
            sampling = replace(prompt.sampling, seed=seed)
            made = self.model.complete(replace(prompt, samples=len(numbers), sampling=sampling))
            answers += made
            if len(made) == len(numbers):  # else nobody knows which were lost
                for number, answer in zip(numbers, made, strict=True):
                    self._keep(keys[number], answer)
        return tuple(answers)

    def _identity(self) -> str:
        """Return what tells the model from all others, "" for none: then keys hold in this run."""
        with self._lock:
            if self._told is None:
                # A plugin's model need not tell.
                parts: Sequence[str | Path] = getattr(self.model, "identity", ())
                try:
                    told = [part if isinstance(part, str) else self._digest(part) for part in parts]
                except OSError:  # what cannot be read is said by whoever loads it
                    told = []
                self._told = content_id(*told) if told else ""
            return self._told

    def _digest(self, file: Path) -> str:
        """Return the SHA-256 of a file, read anew only where it may have changed."""
        status = file.stat()
        changes = (status.st_size, status.st_mtime_ns, status.st_ino)
        name = content_id(str(file.absolute()), *map(str, changes))
        noted = self.folder and self.folder / f"{name}.sha256"
        if noted is not None and noted.is_file():
            return bounded_text(noted)
        digest = digest_of(file)
        if noted is not None:
            with suppress(StoreProblem):
                write_text(noted, digest)
        return digest

    def _find(self, key: str) -> Completion | None:
        with self._lock:
            known = self._known.get(key)
        if known is None and self.folder is not None and self._told:
            with suppress(OSError, UnicodeDecodeError, StoreProblem):  # asked anew
                known = from_json(bounded_text(self.folder / f"{key}.json"), Completion)
        return known

    def _keep(self, key: str, answer: Completion) -> None:
        if answer.is_cut:
            return
        with self._lock:
            self._known[key] = answer
        if self.folder is not None and self._told:
            with suppress(StoreProblem):  # what cannot be kept costs the next run time
                write_text(self.folder / f"{key}.json", to_json(answer))


def asked_anew(model: Model, strategy: str) -> Model:
    """Return the model that `strategy` asks: one that a paper describes has no kept answers."""
    if strategy in _OF_PAPERS and isinstance(model, KeptAnswers):
        return model.model
    return model


def _key(prompt: Prompt, number: int) -> str:
    """Return what decides the answer of one sample; of a greedy one the seed does not."""
    is_greedy = prompt.sampling.temperature <= 0
    seed = 0 if is_greedy else prompt.sampling.seed + number
    return prompt_id(replace(prompt, samples=1, sampling=replace(prompt.sampling, seed=seed)))


def _at_no_cost(answer: Completion) -> Completion:
    return replace(answer, prompt_tokens=0, evaluated=0, tokens=0, seconds=0.0, notes=())
