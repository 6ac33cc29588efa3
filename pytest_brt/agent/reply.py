"""Reads what a model asked for out of its reply, and corrects what is nearly right."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import json_repair

from pytest_brt.agent.action import ACTION, THOUGHT, Action, Argument, NewFile, Place
from pytest_brt.agent.blocks import ReplyProblem, fenced_blocks, first_object
from pytest_brt.agent.paths import Paths, clean, closest, is_inside
from pytest_brt.types import Call

_NAMES = (ACTION, "command", "tool", "function", "name")
_THOUGHTS = (THOUGHT, "thoughts", "reasoning", "reason", "think")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "action_input")
_CODES = ("code", "content", "source", "body", "patch")
#: An escape of JSON's, or a backslash that begins none. Backspaces and form feeds are not meant:
#: models write regular expressions.
_ESCAPE = re.compile(r"(?P<known>\\(?:[\\\"/nrt]|u[0-9a-fA-F]{4}))|\\")
_LONE = "a lone \\ in a string was read as it is written; in JSON it is \\\\"
_BROKEN = "the JSON was not complete or not in its notation"
_FENCE = re.compile(r"^\s{0,3}`{3}", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a reply asks for."""

    call: Call
    thought: str = ""
    #: What was corrected.
    corrections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A reply that cannot be carried out."""

    #: What is wrong with it and what to do, for the model.
    why: str
    #: The action that was meant, as far as it is known.
    action: str = ""
    thought: str = ""


class _Wrong(Exception):
    """Something cannot be corrected; the text is for the model."""


def read_reply(
    reply: str, actions: Mapping[str, Action], *, paths: Paths, cut: bool = False
) -> Read | Unread:
    """Return what `reply` asks for: one of `actions`.

    A header of JSON is expected, then blocks of code where the action takes any; `cut` when the
    reply was cut off at its longest. Broken JSON is mended as `json_repair` does, which
    RepairAgent's authors use too; names of actions and arguments are corrected as `closest` says
    (paper 004, III-E), paths as `Paths.find` does. What cannot be corrected without guessing is
    answered, with a text that tells the model what to do.
    """
    header, rest, notes = _header(reply)
    if header is None:
        form = next(iter(actions.values())).example()
        return Unread(why=f"No action found in your reply. Answer in this form: {form}")
    thought = " ".join(str(_take(header, _THOUGHTS) or "").split())
    given = _take(header, _NAMES)
    if isinstance(given, dict):
        header = {**header, **given}
        given = _take(header, _NAMES)
    name = str(given or "").strip()
    match = closest(name, actions)
    if not match.name:
        return Unread(why=_no_such(name, match.several, actions), thought=thought)
    action = actions[match.name]
    corrections = [*notes]
    if name != action.name:
        corrections.append(f"action {name!r} read as {action.name!r}")
    try:
        values = _flat(header, action)
        code = _blocks(rest, values, action, cut=cut)
        arguments = _values(values, action, paths, corrections)
    except _Wrong as problem:
        return Unread(why=str(problem), action=action.name, thought=thought)
    call = Call(action=action.name, arguments=tuple(arguments.items()), code=code)
    return Read(call=call, thought=thought, corrections=tuple(corrections))


def _header(reply: str) -> tuple[dict[str, Any] | None, str, tuple[str, ...]]:
    """Return the header, what comes after it, and what was corrected to read it."""
    begin = reply.find("{")
    if begin < 0:
        return None, reply, ()
    strict = _strict(reply, begin)
    if strict is not None:
        return (*strict, ())
    # The code behind a header may hold what looks like one.
    fence = _FENCE.search(reply, begin)
    end = fence.start() if fence else len(reply)
    head = reply[begin:end]
    mended = json_repair.loads(_doubled(head))
    parts = mended if isinstance(mended, list) else [mended]
    named = (
        part for part in parts if isinstance(part, dict) and not part.keys().isdisjoint(_NAMES)
    )
    header = next(named, None)
    if header is not None:
        return header, reply[end:], (_BROKEN if _doubled(head) == head else _LONE,)
    try:
        return (*first_object(reply), ())
    except ReplyProblem:
        return None, reply, ()


def _strict(reply: str, begin: int) -> tuple[dict[str, Any], str] | None:
    """Return the JSON object at `begin` and what comes after it, None where it is none.

    None too where a backslash was meant otherwise than JSON takes it.
    """
    try:
        header, end = json.JSONDecoder(strict=False).raw_decode(reply, begin)
    except (ValueError, RecursionError):
        return None
    head, rest = reply[begin:end], reply[end:]
    closing = _FENCE.search(rest)
    if len(_FENCE.findall(reply, 0, begin)) % 2 and closing:  # the header itself is fenced
        rest = rest[closing.end() :]
    return (header, rest) if _doubled(head) == head else None


def _doubled(text: str) -> str:
    """Return `text` with the backslashes doubled that begin no escape."""
    return _ESCAPE.sub(lambda found: found["known"] or "\\\\", text)


def _take(header: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((header.pop(name) for name in names if name in header), None)


def _no_such(name: str, several: tuple[str, ...], actions: Mapping[str, Action]) -> str:
    if several:
        return f"{name!r} could be {' or '.join(several)}. Say which one."
    known = ", ".join(actions)
    said = f"There is no action {_short(name)} now." if name else "Your reply names no action."
    return f"{said} You can use: {known}."


def _flat(header: dict[str, Any], action: Action) -> dict[str, str]:
    """Return the arguments as text, those in a dictionary of their own too."""
    names = [argument.name for argument in action.form.arguments]
    # An argument of the action itself may be called "input" or the like.
    own = any(name in names and name in header for name in _ARGUMENTS)
    inner = None if own else _take(header, _ARGUMENTS)
    values = dict(header)
    if isinstance(inner, dict):
        values.update(inner)
    elif isinstance(inner, list) and len(inner) <= len(names):
        values.update(zip(names, inner, strict=False))
    elif inner is not None and names:
        values.setdefault(names[0], inner)
    return {str(key): _text(value) for key, value in values.items() if value is not None}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _blocks(rest: str, values: dict[str, str], action: Action, *, cut: bool) -> tuple[str, ...]:
    if not action.form.blocks:
        return ()
    blocks, closed = fenced_blocks(rest)
    if not blocks:
        names = [argument.name for argument in action.form.arguments]
        code = next((key for key in values if key in _CODES and key not in names), None)
        if code is not None:
            blocks, closed = (values.pop(code).rstrip("\n") + "\n",), True
    if blocks and not closed and cut:
        raise _Wrong("Your code was cut off: it is too long. Write less code.")
    most = action.form.blocks
    if len(blocks) > most > 1:  # of one that is wanted what follows is talk
        raise _Wrong(f"There are {len(blocks)} blocks of code: {action.name} takes {most} at most.")
    return blocks[:most]


def _values(
    values: dict[str, str], action: Action, paths: Paths, corrections: list[str]
) -> dict[str, str]:
    given = _renamed(values, action, corrections)
    arguments = {}
    for argument in action.form.arguments:
        value = given.get(argument.name, argument.default)
        if value is None or (argument.default is None and not str(value).strip()):
            raise _Wrong(f"{action.name} needs {argument.name!r}: {argument.about}.")
        arguments[argument.name] = _value(str(value).strip(), argument, paths, corrections)
    return arguments


def _renamed(values: dict[str, str], action: Action, corrections: list[str]) -> dict[str, str]:
    names = [argument.name for argument in action.form.arguments]
    given = {name: values[name] for name in names if name in values}
    strangers = [name for name in values if name not in names]
    for stranger in list(strangers):
        open_names = [name for name in names if name not in given]
        match = closest(stranger, open_names)
        if match.name:
            given[match.name] = values[stranger]
            corrections.append(f"argument {stranger!r} read as {match.name!r}")
            strangers.remove(stranger)
    required = [one.name for one in action.form.arguments if one.default is None]
    missing = [name for name in required if name not in given]
    if len(missing) == len(strangers) == 1:
        given[missing[0]] = values[strangers[0]]
        corrections.append(f"argument {strangers[0]!r} read as {missing[0]!r}")
    elif strangers:
        corrections.append(f"left out {', '.join(map(repr, strangers))}")
    return given


def _value(value: str, argument: Argument, paths: Paths, corrections: list[str]) -> str:
    if argument.type is int:
        digits = re.search(r"\d+", value)
        if digits is None:
            raise _Wrong(f"{argument.name!r} must be a number, not {value!r}.")
        return str(int(digits[0]))
    if argument.type is str or value == argument.default:
        return value
    path = _path(value, argument, paths, corrections)
    line = re.search(r":(\d+)\W*$", value) if argument.type is Place else None
    return f"{path}:{line[1]}" if line else path


def _path(value: str, argument: Argument, paths: Paths, corrections: list[str]) -> str:
    is_new = argument.type is NewFile
    meant = paths.find(value, near=not is_new)
    if meant.name:
        if meant.name != (value.partition(":")[0] if argument.type is Place else value):
            corrections.append(f"path {value!r} read as {meant.name!r}")
        return meant.name
    if is_new and not meant.several:
        path = clean(value)
        if not is_inside(path) or not path.endswith(".py"):
            raise _Wrong(f"{_short(value)} is no path of a .py file in the project.")
        return path
    raise _Wrong(meant.problem(_short(value)))


def _short(value: str) -> str:
    """Return what a model wrote as it is quoted back to it."""
    return repr(value if len(value) <= 80 else f"{value[:79]}…")
