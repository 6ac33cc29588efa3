r"""Answers from a file: written by hand, or recorded from a model earlier.

A recording (`.jsonl`) answers the prompt it was made for, wherever it comes; a prompt it does
not know gets the next recorded answer of the same purpose, and the reply says so. A file written
by hand holds replies between marks, each used once and in order, or when its condition fits::

    === reply
    The first answer.
    === reply if: def parse\(
    For the first prompt in which this regular expression is found.
    === always if: is this test
    For every such prompt, any number of times.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.bounded import bounded_text
from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.base import (
    Completion,
    Finish,
    Model,
    Prompt,
    Settings,
    WrappedModel,
    estimate,
    prompt_id,
)
from pytest_brt.model.thoughts import split_thinking
from pytest_brt.types.model import ModelNote, PlayedOutOfOrder

_MARK = re.compile(r"^=== (reply|always)(?: if: (.*))?$", re.MULTILINE)
_CONTEXT = 32_768


@dataclass(slots=True, eq=False)
class _Reply:
    """One answer of a script."""

    text: str
    condition: re.Pattern[str]
    always: bool
    used: bool = False


class ScriptedModel:
    """Answers what a file says."""

    notes: tuple[ModelNote, ...] = ()

    def __init__(self, path: str, settings: Settings) -> None:
        """Read the file at `path`.

        Raises:
            ModelProblem: it cannot be read, or is neither a script nor a recording.
        """
        self.path = Path(path)
        self.name = f"scripted:{self.path.name}"
        self.context = settings.context or _CONTEXT
        try:
            text = bounded_text(self.path)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ModelProblem(
                f"cannot read the script {path!r}: {reason} (name a file after 'scripted:')"
            ) from error
        self.recorded: list[Recorded] = []
        self.replies: list[_Reply] = []
        self._played: set[int] = set()
        self._lock = threading.Lock()
        if self.path.suffix == ".jsonl":
            self.recorded = self._read_recording(text)
        else:
            self.replies = self._read_script(text)

    def _read_recording(self, text: str) -> list[Recorded]:
        found = []
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                found.append(from_json(line, Recorded))
            except StoreProblem as error:
                raise ModelProblem(
                    f"line {number} of the recording {str(self.path)!r} cannot be read: {error}"
                ) from error
        return found

    def _read_script(self, text: str) -> list[_Reply]:
        _, *parts = _MARK.split(text)
        if not parts:
            raise ModelProblem(
                f"the script {str(self.path)!r} holds no replies (begin each with a line "
                "'=== reply')"
            )
        replies = []
        for kind, said, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            try:
                condition = re.compile(said or "")
            except re.error as error:
                raise ModelProblem(
                    f"the script {str(self.path)!r} has a bad condition {said!r}: {error}"
                ) from error
            replies.append(_Reply(body[1:].removesuffix("\n"), condition, kind == "always"))
        return replies

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the answers that the file has for `prompt`.

        Raises:
            ModelProblem: it has none, or none any more.
        """
        with self._lock:
            if self.recorded:
                return self._play(prompt)
            return tuple(self._next(prompt, number) for number in range(prompt.samples))

    def _play(self, prompt: Prompt) -> tuple[Completion, ...]:
        wanted = prompt_id(prompt)
        known = [n for n, record in enumerate(self.recorded) if record.id == wanted]
        fresh = [n for n in known if n not in self._played] or known[-1:]
        if fresh:
            self._played.add(fresh[0])
            return self.recorded[fresh[0]].completions
        for number, record in enumerate(self.recorded):
            if number not in self._played and record.purpose == prompt.purpose:
                self._played.add(number)
                note = PlayedOutOfOrder()
                return tuple(replace(c, notes=(*c.notes, note)) for c in record.completions)
        raise ModelProblem(
            f"the recording {str(self.path)!r} has no answer (left) to this "
            f"{prompt.purpose or 'prompt'}: {_beginning(prompt)!r}"
        )

    def _next(self, prompt: Prompt, number: int) -> Completion:
        said = "\n\n".join(f"{message.role}: {message.text}" for message in prompt.messages)
        for reply in self.replies:
            if reply.used or not reply.condition.search(said):
                continue
            reply.used = not reply.always
            text, thinking = split_thinking(reply.text)
            stops = [text.find(stop) for stop in prompt.sampling.stop if stop in text]
            text = text[: min(stops)] if stops else text
            if not text.startswith(prompt.prefill):
                text = prompt.prefill + text
            made, asked = estimate(reply.text), estimate(prompt)
            return Completion(
                text=text,
                finish=Finish.STOP,
                seed=prompt.sampling.seed + number,
                thinking=thinking,
                prompt_tokens=asked,
                evaluated=asked,
                tokens=made,
            )
        raise ModelProblem(
            f"the script {str(self.path)!r} has no reply (left) for this prompt, of "
            f"{len(self.replies)}: {_beginning(prompt)!r}"
        )

    def count(self, asked: str | Prompt) -> int:
        """Return an estimate."""
        return estimate(asked)

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


def _beginning(prompt: Prompt) -> str:
    return prompt.messages[-1].text[:60] if prompt.messages else ""


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


class RecordedModel(WrappedModel):
    """A model whose prompts and answers are written down."""

    def __init__(self, model: Model, folder: str) -> None:
        """Record to `replies.jsonl` in `folder`, which is made if need be.

        Raises:
            StoreProblem: the folder cannot be written.
        """
        super().__init__(model)
        self.path = Path(folder) / RECORDING
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
        except OSError as error:
            raise StoreProblem(
                f"cannot record to {str(self.path)!r}: {error.strerror} (--brt-record DIR)"
            ) from error

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
