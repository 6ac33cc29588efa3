"""The texts that models are sent: a jinja2 file for each, in the folder ``prompts``.

Values reach a template as they are, never as templates, so that a report cannot change a prompt.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_brt.model.request import Message

if TYPE_CHECKING:
    import jinja2

_FENCE = re.compile(r"^\s*(`{3,})", re.MULTILINE)
_TURN = re.compile(r"^=== (user|assistant)$", re.MULTILINE)
#: What chat templates of models begin their own marks with.
_MARK = re.compile(r"<\|(?=\w)")


@cache
def _environment() -> jinja2.Environment:
    """Return a jinja2 in which a name without a value is an error."""
    import jinja2  # slow, and most runs ask no model
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent.parent / "prompts"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["fenced"] = fenced
    return environment


def render(name: str, /, **values: object) -> str:
    """Return the prompt `name`, as in "libro.user", filled with `values`."""
    text = _environment().get_template(f"{name}.j2").render(values)
    return _MARK.sub("< |", re.sub(r"\n{3,}", "\n\n", text)).strip("\n")


def system_and_user(name: str, /, **values: object) -> tuple[Message, ...]:
    """Return the prompts ``name.system`` and ``name.user`` as messages."""
    return tuple(Message(role, render(f"{name}.{role}", **values)) for role in ("system", "user"))


def turns(name: str) -> tuple[Message, ...]:
    """Return a prompt of several messages, each below ``=== user`` or ``=== assistant``."""
    parts = _TURN.split(render(name))[1:]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return tuple(Message(role, text.strip("\n")) for role, text in pairs)


def fenced(code: str, language: str = "") -> str:
    """Return `code` between fences that no fence inside it can close.

    >>> print(fenced("x = 1", "python"))
    ```python
    x = 1
    ```
    """
    longest = max((len(mark) for mark in _FENCE.findall(code)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code.strip(chr(10))}\n{fence}"
