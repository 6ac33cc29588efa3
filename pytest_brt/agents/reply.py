"""Reads what a model asks for out of its reply, however untidily that is written."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_brt.agents.workspace import Refused, named
from pytest_brt.types import Call

Tool = Callable[..., Any]

_FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^ {0,3}\1`*[ \t]*$|\Z)", re.DOTALL | re.M
)
#: The keys that models put a tool's name, its arguments and their thoughts under.
_NAMES = ("action", "command", "tool", "tool_name", "function", "name")
_ARGUMENTS = ("args", "arguments", "parameters", "input", "action_input")
_THOUGHTS = ("thought", "thoughts", "reasoning")


def fenced_blocks(text: str) -> list[str]:
    """Return the contents of the fenced blocks of a text; the last one may be open."""
    return [block for _, block in _FENCE.findall(text.replace("\r\n", "\n"))]


def _defaults(tool: Tool) -> dict[str, Any]:
    """Return the parameters of a tool but for the workspace, with their defaults."""
    parameters = list(inspect.signature(tool).parameters.values())[1:]
    return {one.name: one.default for one in parameters}


def describe(tool: Tool) -> str:
    """Return what a prompt says of a tool: its docstring, and the form of its call."""
    return f"- {tool.__name__}: {inspect.getdoc(tool)}\n{example(tool)}"


def example(tool: Tool) -> str:
    """Return how a reply looks that calls a tool."""
    values = {
        "thought": "why",
        "action": tool.__name__,
        **dict.fromkeys(_defaults(tool), "…"),
    }
    code = "\n```python\n…\n```" if values.pop("code", "") else ""
    return json.dumps(values, ensure_ascii=False) + code


def read_reply(
    reply: str, offered: Mapping[str, Tool], *, is_cut: bool = False
) -> tuple[Call, str]:
    """Return the call that a reply asks for, near misses corrected, and its thought.

    A reply that was cut off at its limit calls no tool that takes code.

    Raises:
        Refused: it asks for nothing that can be carried out; the text says what to write.
    """
    blocks = fenced_blocks(reply)
    found = first_object(_FENCE.sub("\n", reply)) or first_object("\n".join(blocks))
    if not found:
        form = example(next(iter(offered.values())))
        raise Refused(
            f"No JSON object with an action in your reply. Write it like this:\n{form}"
        )
    for key in (*_NAMES, *_ARGUMENTS):  # what stands inside of one is meant for the whole
        if isinstance(found.get(key), dict):
            found |= found.pop(key)
    thought, name = _take(found, _THOUGHTS), _take(found, _NAMES)
    tool = offered.get(named(name, offered))
    if tool is None:
        raise Refused(f"There is no action {name!r} now. Use: {', '.join(offered)}.")
    call = _call(tool, found, [one for one in blocks if not one.startswith("{")])
    if is_cut and call.code:
        raise Refused("Your reply was cut off, so nothing was done. Write less.")
    return call, thought


def _call(tool: Tool, found: Mapping[str, object], blocks: list[str]) -> Call:
    """Return the call of a tool; raise Refused where it lacks arguments."""
    values = _defaults(tool)
    takes_code = "code" in values
    values |= {
        meant: _plain(v) for key, v in found.items() if (meant := named(key, values))
    }
    inside = values.pop("code", None)
    if isinstance(inside, str) and inside.strip() and not blocks:
        blocks = fenced_blocks(inside) or [inside]
    missing = [
        repr(name) for name, value in values.items() if value is inspect.Parameter.empty
    ]
    if missing:
        needed = ", ".join(missing)
        raise Refused(
            f"{tool.__name__} needs {needed}. Write it like this:\n{example(tool)}"
        )
    code = tuple(blocks) if takes_code else ()
    return Call(action=tool.__name__, arguments=tuple(values.items()), code=code)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _take(found: dict[str, Any], names: Iterable[str]) -> str:
    return str(next((found.pop(name) for name in names if name in found), None) or "")


def first_object(text: str) -> dict[str, Any]:
    """Return the first JSON object of a text, mended where it is nearly one; {} for none."""
    begin = text.find("{")
    if begin < 0:
        return {}
    try:
        value = json.JSONDecoder(strict=False).raw_decode(text, begin)[0]
    except ValueError:
        import json_repair  # most replies need none

        value = json_repair.loads(text[begin:])
    values = value if isinstance(value, list) else [value]
    return next((one for one in values if isinstance(one, dict)), {})
