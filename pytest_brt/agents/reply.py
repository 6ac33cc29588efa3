"""Reads what a model asks for out of its reply, however untidily that is written."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_brt.agents.workspace import named
from pytest_brt.types import Call

Tool = Callable[..., Any]

_FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^ {0,3}\1`*[ \t]*$|\Z)", re.DOTALL | re.M
)
#: The keys that models put a tool's name, its arguments and their thoughts under.
_NAMES = ("action", "command", "tool", "tool_name", "function", "name")
_ARGUMENTS = ("args", "arguments", "parameters", "input", "action_input")
_THOUGHTS = ("thought", "thoughts", "reasoning")


@dataclass(frozen=True, slots=True)
class Read:
    """A reply, as far as it could be read."""

    thought: str = ""
    #: The tool that was meant, and its call where it can be carried out.
    tool: str = ""
    call: Call | None = None
    #: Why it cannot be, and what to write instead.
    problem: str = ""


def fenced_blocks(text: str) -> list[str]:
    """Return the contents of the fenced blocks of a text; the last one may be open."""
    return [block for _, block in _FENCE.findall(text.replace("\r\n", "\n"))]


def _parameters(tool: Tool) -> dict[str, inspect.Parameter]:
    """Return the parameters of a tool but for the workspace."""
    return dict(list(inspect.signature(tool).parameters.items())[1:])


def describe(tool: Tool) -> str:
    """Return what a prompt says of a tool: its docstring, and the form of its call."""
    return f"- {tool.__name__}: {inspect.getdoc(tool)}\n{example(tool)}"


def example(tool: Tool) -> str:
    """Return how a reply looks that calls a tool."""
    names = list(_parameters(tool))
    plain = [name for name in names if name != "code"]
    values = {"thought": "why", "action": tool.__name__, **dict.fromkeys(plain, "…")}
    code = "\n```python\n…\n```" if "code" in names else ""
    return json.dumps(values, ensure_ascii=False) + code


def read_reply(reply: str, offered: Mapping[str, Tool], *, is_cut: bool = False) -> Read:
    """Return what a reply asks for, near misses corrected; never raises.

    A reply that was cut off at its limit calls no tool that takes code.
    """
    blocks = fenced_blocks(reply)
    found = first_object(_FENCE.sub("\n", reply)) or first_object("\n".join(blocks))
    if found is None:
        form = example(next(iter(offered.values())))
        return Read(
            problem=f"No JSON object with an action in your reply. Write it like this:\n{form}"
        )
    thought = str(_take(found, _THOUGHTS) or "")
    name = _take(found, _NAMES)
    if isinstance(name, dict):
        found |= name
        name = _take(found, _NAMES)
    inner = _take(found, _ARGUMENTS)
    found |= inner if isinstance(inner, dict) else {}
    tool = named(str(name or ""), offered)
    if not tool:
        known = ", ".join(offered)
        return Read(
            thought, str(name or ""), None, f"There is no action {name!r} now. Use: {known}."
        )
    call, missing = _call(offered[tool], found, [one for one in blocks if not one.startswith("{")])
    if missing:
        problem = f"{tool} needs {missing}. Write it like this:\n{example(offered[tool])}"
        return Read(thought, tool, None, problem)
    if is_cut and call.code:
        return Read(thought, tool, None, "Your reply was cut off, so nothing was done. Write less.")
    return Read(thought, tool, call)


def _call(tool: Tool, found: Mapping[str, object], blocks: list[str]) -> tuple[Call, str]:
    """Return the call of a tool, and the arguments that it lacks."""
    parameters = _parameters(tool)
    values = {meant: _plain(v) for key, v in found.items() if (meant := named(key, parameters))}
    code = values.pop("code", "")
    if not blocks and code.strip():
        blocks = fenced_blocks(code) or [code]
    takes_code = parameters.pop("code", None)
    needed = [n for n, one in parameters.items() if one.default is inspect.Parameter.empty]
    missing = [repr(name) for name in needed if name not in values]
    if takes_code is not None and takes_code.default is inspect.Parameter.empty and not blocks:
        missing.append("a block of code below the JSON")
    arguments = [(n, values.get(n, str(one.default))) for n, one in parameters.items()]
    blocks = blocks if takes_code is not None else []
    call = Call(action=tool.__name__, arguments=tuple(arguments), code=tuple(blocks))
    return call, ", ".join(missing)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _take(found: dict[str, Any], names: Iterable[str]) -> object:
    return next((found.pop(name) for name in names if name in found), None)


def first_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object of a text, mended where it is nearly one."""
    begin = text.find("{")
    if begin < 0:
        return None
    try:
        value = json.JSONDecoder(strict=False).raw_decode(text, begin)[0]
    except ValueError:
        import json_repair  # most replies need none

        value = json_repair.loads(text[begin:])
        if isinstance(value, list):
            value = next((one for one in value if isinstance(one, dict)), None)
    return value if isinstance(value, dict) and value else None


def object_schema(names: Iterable[str], longest: int = 240) -> str:
    """Return the JSON schema of an object with these texts, each of at most so many characters."""
    fields = {name: {"type": "string", "maxLength": longest} for name in names}
    return json.dumps({"type": "object", "properties": fields, "required": list(fields)})


def read_object(reply: str, names: Iterable[str]) -> dict[str, str] | None:
    """Return the values of a JSON object by their names, None where one is missing."""
    found = first_object(reply)
    if found is None or any(name not in found for name in names):
        return None
    return {name: _plain(found[name]) for name in names}
