"""Renders a conversation with the model's own template, text kept apart from markup.

A template is a jinja2 program inside the model file. It is run in a sandbox, on messages whose
content is replaced by a mark, and its output is cut at the marks: what lies between them is
markup, in which control tokens count; what the marks stand for is text, in which they do not.
So a control token that somebody wrote into a bug report stays the letters it is written with.

What templates may expect: https://huggingface.co/docs/transformers/chat_templating_writing.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Message, Role

#: Private-use characters: no template holds them, and contents are not rendered at all.
_MARK = re.compile("\ue000(\\d+)\ue001")
#: Templates that print a date get always the same one, or no prefix could be kept.
_TODAY = datetime.datetime(2026, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of a rendered conversation."""

    text: str
    #: Number of the message it is the content of; -1 for markup, in which control tokens count.
    message: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """How a model writes its thoughts."""

    #: What begins and ends them in the reply.
    open: str
    close: str
    #: Whether the generation prompt has begun them already.
    begun: bool = False


class TemplateRefusal(Exception):
    """The template called raise_exception()."""


class Template:
    """A chat template, compiled."""

    def __init__(self, source: str, *, where: str, bos: str = "", eos: str = "") -> None:
        """Compile `source`; `where` names it in errors.

        Raises:
            ModelProblem: there is no template, or it is not valid jinja2.
        """
        if not source:
            raise ModelProblem(
                f"{where!r} has no chat template (name a file with one: "
                "--brt-model gguf:PATH+template:FILE)"
            )
        self.source = source
        self.where = where
        self.words = {"bos_token": bos, "eos_token": eos}
        env = _environment()
        try:
            self.template = env.from_string(source)
        except jinja2.TemplateError as error:
            raise self._problem(f"cannot be read: {error}") from error

    def _problem(self, what: str) -> ModelProblem:
        text = " ".join(what.split())
        return ModelProblem(
            f"the chat template of {self.where!r} {text} "
            "(name another one: --brt-model gguf:PATH+template:FILE)"
        )

    @property
    def thinks(self) -> bool:
        """Whether it is made for a model that thinks before it answers."""
        return "<think>" in self.source or "enable_thinking" in self.source or self.channels

    @property
    def channels(self) -> bool:
        """Whether thoughts and answers come in named channels (gpt-oss)."""
        return "<|channel|>" in self.source

    def render(self, messages: Sequence[Message], *, thinking: bool = False) -> list[Segment]:
        """Return the conversation up to where the assistant begins to speak.

        A template that knows no system role, or insists on turns that alternate, gets the same
        texts merged into the roles that it knows.

        Raises:
            ModelProblem: the template fails on every form of the conversation.
        """
        refusal = ""
        for form in (_as_is, _system_in_user, _alternating, _plain):
            contents = form(messages)
            if contents is None:
                continue
            try:
                return self._render(contents, len(messages), messages, thinking)
            except (jinja2.TemplateError, TemplateRefusal) as error:
                refusal = refusal or str(error) or type(error).__name__
            except (
                ArithmeticError,
                AttributeError,
                LookupError,
                RuntimeError,
                TypeError,
                ValueError,
            ) as error:
                # A template is a program: whatever it stumbles over is its own error.
                refusal = refusal or f"{type(error).__name__}: {error}"
        raise self._problem(f"refuses the conversation: {refusal}")

    def _render(
        self,
        contents: list[tuple[Role, str]],
        count: int,
        messages: Sequence[Message],
        thinking: bool,
    ) -> list[Segment]:
        text = self.template.render(
            messages=[{"role": str(role), "content": content} for role, content in contents],
            add_generation_prompt=True,
            enable_thinking=thinking,
            tools=None,
            documents=None,
            **self.words,
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
        lost = set(range(count)) - seen
        if lost:
            number = min(lost)
            raise TemplateRefusal(f"it leaves out the {messages[number].role} message")
        return [segment for segment in segments if segment.text or segment.message >= 0]

    def thoughts(self, segments: Sequence[Segment]) -> Thinking | None:
        """Return how the model thinks after this prompt, or None when it does not."""
        if not self.thinks:
            return None
        if self.channels:
            return Thinking(
                open="<|channel|>analysis<|message|>",
                close="<|end|><|start|>assistant<|channel|>final<|message|>",
            )
        plain = Thinking(open="<think>\n", close="\n</think>\n\n")
        tail = segments[-1].text if segments and segments[-1].message < 0 else ""
        return replace(plain, begun=tail.rstrip().endswith("<think>"))


def _environment() -> ImmutableSandboxedEnvironment:
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )

    def refuse(message: str) -> NoReturn:
        raise TemplateRefusal(str(message))

    def to_json(value: Any, indent: int | None = None, **_: Any) -> str:
        return json.dumps(value, ensure_ascii=False, indent=indent)

    date: Callable[[str], str] = _TODAY.strftime
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = date
    env.filters["tojson"] = to_json
    return env


_Contents = list[tuple[Role, str]]


def _mark(number: int) -> str:
    return f"\ue000{number}\ue001"


def _as_is(messages: Sequence[Message]) -> _Contents | None:
    return [(message.role, _mark(number)) for number, message in enumerate(messages)]


def _system_in_user(messages: Sequence[Message]) -> _Contents | None:
    """Put what the system says in front of what the user says next; None without a system."""
    if not any(message.role is Role.SYSTEM for message in messages):
        return None
    out: _Contents = []
    waiting = ""
    for role, content in _as_is(messages) or []:
        if role is Role.SYSTEM:
            waiting += content + "\n\n"
        elif role is Role.USER:
            out.append((role, waiting + content))
            waiting = ""
        else:
            out.append((role, content))
    if waiting:
        out.append((Role.USER, waiting[:-2]))
    return out


def _merged(contents: _Contents) -> _Contents:
    """Merge neighbours that have the same role."""
    out: _Contents = []
    for role, content in contents:
        if out and out[-1][0] is role:
            out[-1] = (role, f"{out[-1][1]}\n\n{content}")
        else:
            out.append((role, content))
    return out


def _alternating(messages: Sequence[Message]) -> _Contents | None:
    return _merged(_as_is(messages) or [])


def _plain(messages: Sequence[Message]) -> _Contents | None:
    """Return turns that alternate and know no system."""
    return _merged(_system_in_user(messages) or _as_is(messages) or [])
