"""The thoughts of a model: what begins and ends them, and what it did while it thought."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass

_OBJECT = re.compile(r"^\{", re.MULTILINE)


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


def last_action(thoughts: str) -> str:
    r"""Return `thoughts` from the last line on that begins a JSON object with an action, or "".

    >>> last_action('I call it.\n{"action": "test", "path": "t.py"}\n')
    '{"action": "test", "path": "t.py"}\n'
    >>> last_action("I would use an action.")
    ''
    """
    decoder = json.JSONDecoder(strict=False)
    for start in reversed([found.start() for found in _OBJECT.finditer(thoughts)]):
        with suppress(ValueError, RecursionError):
            if "action" in decoder.raw_decode(thoughts, start)[0]:
                return thoughts[start:]
    return ""
