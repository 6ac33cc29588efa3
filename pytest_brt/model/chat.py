"""Renders a conversation with the model's own template, text kept apart from markup.

A template is a jinja2 program inside the model file. It is run in a sandbox (`rendering`), on
messages whose content is replaced by a mark, and its output is cut at the marks: what lies between
them is markup, in which control tokens count; what the marks stand for is text, in which they do
not. So a control token that somebody wrote into a bug report stays the letters it is written with.
"""

from __future__ import annotations

import functools
import json
import re
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from pytest_brt.errors import ModelProblem
from pytest_brt.model import rendering
from pytest_brt.model.base import Message, Role
from pytest_brt.model.thoughts import CHANNELS, Marks, marks_in

#: Private-use characters: no template holds them, and contents are not rendered at all.
_MARK = re.compile("\ue000(\\d+)\ue001")
#: Where the models that name their channels answer.
_CHANNEL_OF_ANSWERS = "<|channel|>final<|message|>"
#: Asked to see what a template does with a budget of so many tokens.
_QUESTION = (Message(role=Role.USER, text="?"),)
_SOME = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of a rendered conversation."""

    text: str
    #: Number of the message it is the content of; -1 for markup, in which control tokens count.
    message: int = -1


class Begins(StrEnum):
    """What a model writes first after a prompt."""

    ANSWER = "answer"
    THOUGHTS = "thoughts"
    #: The template leaves it to the model.
    EITHER = "either"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A conversation up to where the assistant begins to speak."""

    segments: tuple[Segment, ...]
    begins: Begins
    #: None for a model that knows no thoughts.
    marks: Marks | None = None

    def also(self, markup: str, begins: Begins) -> Rendering:
        """Return the rendering with `markup` after it."""
        more = (*self.segments, Segment(text=markup))
        return replace(self, segments=more, begins=begins)


class TemplateRefusal(Exception):
    """The template cannot be read, or does not take this form of the conversation."""


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.communicate()


class Template:
    """A chat template, compiled."""

    def __init__(self, source: str, *, where: str, bos: str = "", eos: str = "") -> None:
        """Compile `source`; `where` names it in errors.

        Raises:
            ModelProblem: there is no template, or it is not valid jinja2.
        """
        if not source:
            raise ModelProblem(
                f"{where!r} has no chat template (take a file with one, or serve it with "
                "--brt-model server:localhost:PORT)"
            )
        self.source = source
        self.where = where
        self.words = {"bos_token": bos, "eos_token": eos}
        specs = filter(None, map(find_spec, ("jinja2", "markupsafe")))
        places = {str(Path(str(spec.origin)).parents[1]) for spec in specs}
        #: The process in which it is compiled and run.
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", rendering.__file__, *sorted(places)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        weakref.finalize(self, _end, self._child)
        try:
            self._ask(source)
        except TemplateRefusal as error:
            raise self._problem(f"cannot be read: {error}") from error

    def _ask(self, request: object) -> str:
        """Return what the process answers."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps(request).encode("ascii") + b"\n")
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            status = self._child.wait()
            if status == -signal.SIGPROF:
                raise TemplateRefusal(f"it computes for more than {rendering.SECONDS} s")
            raise TemplateRefusal(f"its process ended with status {status}")
        answer: dict[str, str] = json.loads(line)
        if "problem" in answer:
            raise TemplateRefusal(answer["problem"])
        return answer.get("text", "")

    def _problem(self, what: str) -> ModelProblem:
        text = " ".join(what.split())
        return ModelProblem(
            f"the chat template of {self.where!r} {text} "
            "(take another file, or serve it with --brt-model server:localhost:PORT)"
        )

    @functools.cached_property
    def marks(self) -> Marks | None:
        """The marks of thoughts, with what the template itself puts after them."""
        marks = marks_in(self.source)
        if marks is None or marks is CHANNELS:
            return marks
        _, closed, after = self._probe(0).rpartition(marks.close)
        return replace(marks, after=after) if closed else marks

    @functools.cached_property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers, unless it is kept from it."""
        if self.marks is None:
            return False
        tail = self._probe(_SOME).rstrip()
        return self.marks is CHANNELS or tail.endswith(self.marks.open) or self.switched

    @functools.cached_property
    def switched(self) -> bool:
        """Whether the template is told to let the model think or not."""
        return self.marks is not CHANNELS and self._probe(0) != self._probe(_SOME)

    def _probe(self, thinking: int) -> str:
        """Return what comes after a question, or "" when the template wants another one."""
        try:
            return "".join(s.text for s in self._segments(_QUESTION, thinking))
        except ModelProblem:
            return ""

    def render(self, messages: Sequence[Message], *, thinking: int = 0) -> Rendering:
        """Return the conversation up to where the assistant begins to speak.

        A template that knows no system role, or insists on turns that alternate, gets the same
        texts merged into the roles that it knows. With `thinking`, the tokens that the model
        may spend so, its thoughts are begun; without, they are ended where the template begins
        them.

        Raises:
            ModelProblem: the template fails on every form of the conversation.
        """
        segments = tuple(self._segments(messages, thinking))
        plain = Rendering(segments=segments, begins=Begins.ANSWER, marks=self.marks)
        if self.marks is None:
            return plain
        if self.marks is CHANNELS:
            answer = _CHANNEL_OF_ANSWERS if not thinking else CHANNELS.open
            return plain.also(answer, Begins.THOUGHTS if thinking else Begins.ANSWER)
        tail = segments[-1].text.rstrip() if segments and segments[-1].message < 0 else ""
        begun = tail.endswith(self.marks.open)
        if thinking and begun:
            return replace(plain, begins=Begins.THOUGHTS)
        if thinking and self.switched:
            return plain.also(f"{self.marks.open}\n", Begins.THOUGHTS)
        if begun:
            return plain.also(self.marks.end, Begins.ANSWER)
        closed = tail.endswith(self.marks.close)
        return plain if closed else replace(plain, begins=Begins.EITHER)

    def _segments(self, messages: Sequence[Message], thinking: int) -> list[Segment]:
        refusal = ""
        for alternating in (False, True):
            for system in (True, False):
                contents = _contents(messages, system=system, alternating=alternating)
                try:
                    return self._render(contents, messages, thinking)
                except TemplateRefusal as error:
                    refusal = refusal or str(error)
        raise self._problem(f"refuses the conversation: {refusal}")

    def _render(
        self, contents: list[tuple[Role, str]], messages: Sequence[Message], thinking: int
    ) -> list[Segment]:
        text = self._ask(
            {
                "messages": [{"role": str(role), "content": content} for role, content in contents],
                "add_generation_prompt": True,
                "enable_thinking": thinking > 0,
                "thinking": thinking > 0,
                "thinking_budget": thinking,
                "functions": "",
                **self.words,
            }
        )
        segments = []
        at = 0
        seen = set()
        for mark in _MARK.finditer(text):
            number = int(mark[1])
            seen.add(number)
            segments.append(Segment(text=text[at : mark.start()]))
            segments.append(Segment(text=messages[number].text, message=number))
            at = mark.end()
        segments.append(Segment(text=text[at:]))
        lost = set(range(len(messages))) - seen
        if lost:
            number = min(lost)
            raise TemplateRefusal(f"it leaves out the {messages[number].role} message")
        return [segment for segment in segments if segment.text or segment.message >= 0]


def _contents(
    messages: Sequence[Message], *, system: bool, alternating: bool
) -> list[tuple[Role, str]]:
    """Return each role and what stands for its text.

    Without `system`, what it says stands before what the user says next; with `alternating`,
    neighbours of one role are one turn.
    """
    out: list[tuple[Role, str]] = []
    waiting = ""
    for number, message in enumerate(messages):
        role, content = message.role, f"\ue000{number}\ue001"
        if role is Role.SYSTEM and not system:
            waiting += f"{content}\n"
            continue
        if role is Role.USER:
            content, waiting = waiting + content, ""
        if alternating and out and out[-1][0] is role:
            out[-1] = (role, f"{out[-1][1]}\n\n{content}")
        else:
            out.append((role, content))
    return out
