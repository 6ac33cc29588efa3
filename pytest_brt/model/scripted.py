r"""Answers from a file written by hand.

It holds replies between marks, each used once and in order, or when its condition fits::

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
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.bounded import bounded_text
from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import (
    Completion,
    Finish,
    Prompt,
    Settings,
    estimate,
)
from pytest_brt.model.thoughts import split_thinking
from pytest_brt.types.model import ModelNote

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
            ModelProblem: it cannot be read, or is no script.
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
        self._lock = threading.Lock()
        self.replies = self._read_script(text)

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
            return tuple(self._next(prompt, number) for number in range(prompt.samples))

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
