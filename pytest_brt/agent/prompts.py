"""The texts that models are sent: jinja2 files.

One file is one message, named by what it is for and who says it: ``libro/user.j2``,
``invert/plan.user.j2``; examples are several messages in one file.

Values reach a template as they are, never as templates, so that a report cannot change a prompt.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_brt.model.base import Message, Role

if TYPE_CHECKING:
    import jinja2

#: Where the prompts of this package are.
BUILT_IN = Path(__file__).parent.parent / "prompts"
#: What jinja2 files are called.
SUFFIX = ".j2"
_FENCE = re.compile(r"^\s*(`{3,})", re.MULTILINE)
_TURN = re.compile(r"^=== (user|assistant)$", re.MULTILINE)


class Prompts:
    """Renders prompts; safe to use from many threads."""

    def __init__(self) -> None:
        self.names = _names_in(BUILT_IN)

    @cached_property
    def _environment(self) -> jinja2.Environment:
        """A jinja2 in which a name without a value is an error."""
        # When first needed: jinja2 is slow to import, and most runs ask no model.
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(
            loader=jinja2.FileSystemLoader(BUILT_IN),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            auto_reload=False,
        )
        environment.filters["fenced"] = fenced
        return environment

    def render(self, name: str, /, **values: object) -> str:
        """Return the prompt called `name` (its path without ".j2"), filled with `values`.

        Raises:
            KeyError: there is no such prompt.
        """
        if name not in self.names:
            raise KeyError(name)
        return self._environment.get_template(name + SUFFIX).render(values).strip("\n")

    def message(self, role: Role, name: str, /, **values: object) -> Message:
        """Return what `render` does as a message said by `role`."""
        return Message(role=role, text=self.render(name, **values))

    def ask(self, name: str, /, **values: object) -> tuple[Message, ...]:
        """Return ``name.system`` (where there is such a prompt) and ``name.user`` as messages.

        For a prompt that is a folder the files are ``name/system`` and ``name/user``.
        """
        between = "/" if f"{name}/user" in self.names else "."
        system, user = f"{name}{between}system", f"{name}{between}user"
        first = (self.message(Role.SYSTEM, system, **values),) if system in self.names else ()
        return (*first, self.message(Role.USER, user, **values))

    def turns(self, name: str, /, **values: object) -> tuple[Message, ...]:
        """Return the prompt called `name` as several messages.

        Each begins with a line ``=== user`` or ``=== assistant``; raises as `render` does.
        """
        parts = _TURN.split(self.render(name, **values))[1:]
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return tuple(Message(role=Role(role), text=text.strip("\n")) for role, text in pairs)


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


def _names_in(folder: Path) -> frozenset[str]:
    return frozenset(
        path.relative_to(folder).as_posix().removesuffix(SUFFIX)
        for path in folder.rglob(f"*{SUFFIX}")
    )
