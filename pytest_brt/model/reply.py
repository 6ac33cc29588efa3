"""Reads a reply: thoughts apart, the JSON header, and the fenced blocks of code after it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pytest_brt.errors import ModelProblem

_OBJECT = re.compile(r"^\{", re.MULTILINE)
_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})[^`\n]*$", re.MULTILINE)


class ReplyProblem(ModelProblem):
    """A model's reply does not have the form that was asked for; the text says how."""


def first_object(text: str) -> tuple[dict[str, Any], str]:
    """Return the first JSON object in `text` and what comes after it.

    Raises:
        ReplyProblem: there is none.
    """
    decoder = json.JSONDecoder(strict=False)
    problem = "no '{' in it"
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            problem = problem if problem.startswith("JSON") else f"JSON error: {error}"
        else:
            return value, _after_fence(text, end)
        at = text.find("{", at + 1)
    raise ReplyProblem(f"no JSON header in the reply ({problem}): {text[:80]!r}")


def last_action(thoughts: str) -> str:
    r"""Return `thoughts` from the last line on that begins a JSON object with an action, or "".

    >>> last_action('I call it.\n{"action": "test", "path": "t.py"}\n')
    '{"action": "test", "path": "t.py"}\n'
    >>> last_action("I would use an action.")
    ''
    """
    starts = [found.start() for found in _OBJECT.finditer(thoughts)]
    for start in reversed(starts):
        with suppress(ReplyProblem):
            if "action" in first_object(thoughts[start:])[0]:
                return thoughts[start:]
    return ""


def _after_fence(text: str, end: int) -> str:
    """Return the text after a header, past the fence that closes around the header itself."""
    opened = sum(1 for _ in _FENCE.finditer(text, 0, end))
    rest = text[end:]
    closing = _FENCE.search(rest)
    if opened % 2 and closing:
        return rest[closing.end() :]
    return rest


def fenced_blocks(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the contents of the fenced blocks in `text`, and whether the last one is closed."""
    blocks: list[str] = []
    lines: list[str] = []
    fence = ""
    for line in text.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        stripped = line.strip()
        if fence:
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                blocks.append(_joined(lines))
                fence, lines = "", []
            else:
                lines.append(line)
        elif _FENCE.match(line):
            fence = stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))]
    if fence:
        blocks.append(_joined(lines))
    return tuple(blocks), not fence


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What begins and ends the thoughts of a model."""

    open: str
    close: str
    #: What stands between the end of the thoughts and the answer.
    after: str = "\n\n"

    @property
    def end(self) -> str:
        """What ends the thoughts of a model that does not end them itself."""
        return f"\n{self.close}{self.after}"


#: In the order in which they are looked for in a template. gpt-oss names its channels.
_CHANNEL = "<|end|><|start|>assistant<|channel|>final<|message|>"
CHANNELS = Marks(open="<|channel|>analysis<|message|>", close=_CHANNEL, after="")
KNOWN = (
    Marks(open="<|channel>thought", close="<channel|>", after=""),
    Marks(open="<think:opensource>", close="</think:opensource>"),
    Marks(open="<seed:think>", close="</seed:think>"),
    Marks(open="<think>", close="</think>"),
    Marks(open="[THINK]", close="[/THINK]", after=""),
    Marks(open="<|START_THINKING|>", close="<|END_THINKING|>", after=""),
    Marks(open="<|inner_prefix|>", close="<|inner_suffix|>", after=""),
    Marks(open="◁think▷", close="◁/think▷"),
)


def marks_in(source: str) -> Marks | None:
    """Return the marks that the template `source` knows, or None."""
    if "<|channel|>" in source:
        return CHANNELS
    found = (marks for marks in KNOWN if marks.open in source or marks.close in source)
    return next(found, None)


def split_thinking(text: str) -> tuple[str, str]:
    r"""Return the answer in `text` and the thoughts before it.

    >>> split_thinking("<think>hm</think>\n\nyes")
    ('yes', 'hm')
    >>> split_thinking("hm</think>yes")
    ('yes', 'hm')
    >>> split_thinking("no thoughts")
    ('no thoughts', '')
    >>> split_thinking("[THINK]cut sho")
    ('', 'cut sho')
    """
    start = text.lstrip()
    for marks in KNOWN:
        if start.startswith(marks.open):
            thinking, closed, answer = start.removeprefix(marks.open).partition(marks.close)
            return (answer.lstrip("\n"), thinking) if closed else ("", thinking)
        thinking, closed, answer = text.partition(marks.close)
        if closed and marks.open not in thinking:
            return answer.lstrip("\n"), thinking
    return text, ""
