"""Reads what a model asked for out of its reply, and puts right what is nearly right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_brt.agent.action import ACTION, THOUGHT, Action, ActionSpec, Kind, Parameter
from pytest_brt.agent.paths import Paths, clean, closest, is_inside
from pytest_brt.model.reply import ReplyProblem, fenced_blocks, first_object

_NAMES = (ACTION, "command", "tool", "function", "name")
_THOUGHTS = (THOUGHT, "thoughts", "reasoning", "reason", "think")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "action_input")
_CODES = ("code", "content", "source", "body", "patch")
#: An escape of JSON's, or a backslash that begins none. Backspaces and form feeds are not meant:
#: models write regular expressions.
_ESCAPE = re.compile(r"(?P<known>\\(?:[\\\"/nrt]|u[0-9a-fA-F]{4}))|\\")
_LONE = "a lone \\ in a string was read as it is written; in JSON it is \\\\"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A reply that cannot be carried out."""

    #: What is wrong with it and what to do, for the model.
    text: str
    #: The action that was meant, as far as it is known.
    action: str = ""
    thought: str = ""


class _Wrong(Exception):
    """Something cannot be put right; the text is for the model."""


def read_action(
    reply: str, specs: Mapping[str, ActionSpec], *, paths: Paths, cut: bool = False
) -> Action | Refused:
    """Return the action that `reply` asks for, one of `specs`.

    A header of JSON is expected, then blocks of code where the action takes any; `cut` when the
    reply was cut off at its longest. Names of actions and arguments are put right as `closest`
    says, paths as `Paths.find` does. What cannot be put right without guessing is refused, with
    a text that tells the model what to do.
    """
    header, rest, notes = _header(reply)
    if header is None:
        form = next(iter(specs.values())).example()
        return Refused(text=f"No action found in your reply. Answer in this form: {form}")
    thought = " ".join(str(_take(header, _THOUGHTS) or "").split())
    given = _take(header, _NAMES)
    if isinstance(given, dict):
        header = {**header, **given}
        given = _take(header, _NAMES)
    name = str(given or "").strip()
    match = closest(name, specs)
    if not match.name:
        return Refused(text=_no_such(name, match.several, specs), thought=thought)
    spec = specs[match.name]
    mended = [*notes]
    if name != spec.name:
        mended.append(f"action {name!r} read as {spec.name!r}")
    try:
        values = _flat(header, spec)
        blocks = _blocks(rest, values, spec, cut=cut)
        arguments = _arguments(values, spec, paths, mended)
    except _Wrong as problem:
        return Refused(text=str(problem), action=spec.name, thought=thought)
    return Action(
        name=spec.name,
        arguments=tuple(arguments.items()),
        thought=thought,
        blocks=blocks,
        mended=tuple(mended),
    )


def _header(reply: str) -> tuple[dict[str, Any] | None, str, tuple[str, ...]]:
    """Return the header, what comes after it, and what was put right to read it."""
    try:
        header, rest = first_object(reply)
    except ReplyProblem:
        head, brace, code = reply.partition("}\n```")
        lone, more = f"{head}{brace}", code
    else:
        lone, more = reply[: len(reply) - len(rest)], rest
        if _escaped(lone) == lone:
            return header, rest, ()
    try:
        header, rest = first_object(_escaped(lone) + more)
    except ReplyProblem:
        return None, reply, ()
    return header, rest, (_LONE,) if _escaped(lone) != lone else ()


def _escaped(text: str) -> str:
    """Return `text` with the backslashes doubled that begin no escape."""
    return _ESCAPE.sub(lambda found: found["known"] or "\\\\", text)


def _take(header: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((header.pop(name) for name in names if name in header), None)


def _no_such(name: str, several: tuple[str, ...], specs: Mapping[str, ActionSpec]) -> str:
    if several:
        return f"{name!r} could be {' or '.join(several)}. Say which one."
    known = ", ".join(specs)
    said = f"There is no action {_short(name)} now." if name else "Your reply names no action."
    return f"{said} You can use: {known}."


def _flat(header: dict[str, Any], spec: ActionSpec) -> dict[str, str]:
    """Return the arguments as text, those in a dictionary of their own too."""
    names = [parameter.name for parameter in spec.parameters]
    # A parameter of the action itself may be called "input" or the like.
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


def _blocks(rest: str, values: dict[str, str], spec: ActionSpec, *, cut: bool) -> tuple[str, ...]:
    if not spec.most_blocks:
        return ()
    blocks, closed = fenced_blocks(rest)
    if not blocks:
        names = [parameter.name for parameter in spec.parameters]
        code = next((key for key in values if key in _CODES and key not in names), None)
        if code is not None:
            blocks, closed = (values.pop(code).rstrip("\n") + "\n",), True
    if blocks and not closed and cut:
        raise _Wrong("Your code was cut off: it is too long. Write less code.")
    return blocks[: spec.most_blocks]


def _arguments(
    values: dict[str, str], spec: ActionSpec, paths: Paths, mended: list[str]
) -> dict[str, str]:
    given = _renamed(values, spec, mended)
    arguments = {}
    for parameter in spec.parameters:
        value = given.get(parameter.name, parameter.default)
        if value is None or (not value.strip() and parameter.default is None):
            raise _Wrong(f"{spec.name} needs {parameter.name!r}: {parameter.about}.")
        arguments[parameter.name] = _value(value.strip(), parameter, paths, mended)
    return arguments


def _renamed(values: dict[str, str], spec: ActionSpec, mended: list[str]) -> dict[str, str]:
    names = [parameter.name for parameter in spec.parameters]
    given = {name: values[name] for name in names if name in values}
    strangers = [name for name in values if name not in names]
    for stranger in list(strangers):
        open_names = [name for name in names if name not in given]
        match = closest(stranger, open_names)
        if match.name:
            given[match.name] = values[stranger]
            mended.append(f"argument {stranger!r} read as {match.name!r}")
            strangers.remove(stranger)
    missing = [p.name for p in spec.parameters if p.name not in given and p.default is None]
    if len(missing) == len(strangers) == 1:
        given[missing[0]] = values[strangers[0]]
        mended.append(f"argument {strangers[0]!r} read as {missing[0]!r}")
    elif strangers:
        mended.append(f"left out {', '.join(map(repr, strangers))}")
    return given


def _value(value: str, parameter: Parameter, paths: Paths, mended: list[str]) -> str:
    if parameter.kind is Kind.NUMBER:
        digits = re.search(r"\d+", value)
        if digits is None:
            raise _Wrong(f"{parameter.name!r} must be a number, not {value!r}.")
        return str(int(digits[0]))
    if parameter.kind is Kind.PLACE:
        line = re.search(r":(\d+)\W*$", value)
        return _path(value, parameter, paths, mended) + (f":{line[1]}" if line else "")
    if parameter.kind in (Kind.PATH, Kind.NEW_PATH):
        return _path(value, parameter, paths, mended)
    return value


def _path(value: str, parameter: Parameter, paths: Paths, mended: list[str]) -> str:
    meant = paths.find(value, near=parameter.kind is not Kind.NEW_PATH)
    if meant.name:
        if meant.name != (value.partition(":")[0] if parameter.kind is Kind.PLACE else value):
            mended.append(f"path {value!r} read as {meant.name!r}")
        return meant.name
    if parameter.kind is Kind.NEW_PATH and not meant.several:
        path = clean(value)
        if not is_inside(path) or not path.endswith(".py"):
            raise _Wrong(f"{_short(value)} is no path of a .py file in the project.")
        return path
    raise _Wrong(meant.problem(_short(value)))


def _short(value: str) -> str:
    """Return what a model wrote as it is quoted back to it."""
    return repr(value if len(value) <= 80 else f"{value[:79]}…")
