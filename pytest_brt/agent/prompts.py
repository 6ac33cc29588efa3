"""The texts that models are sent: jinja2 files, each of which the user can replace.

One file is one message, named by what it is for and who says it: ``libro/user.j2``,
``invert/plan.user.j2``; examples are several messages in one file. A folder of
the user's (``--brt-prompts``) replaces single files by the same path below it; a replacement can
build on what it replaces::

    {% include "built-in/libro/user.j2" %}

Values reach a template as they are, never as templates, so that a report cannot change a prompt.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_brt.errors import UsageProblem
from pytest_brt.model.base import Message, Role

if TYPE_CHECKING:
    import jinja2

#: Where the prompts of this package are.
BUILT_IN = Path(__file__).parent.parent / "prompts"
#: What jinja2 files are called.
SUFFIX = ".j2"
_FENCE = re.compile(r"^\s*(`{3,})", re.MULTILINE)
_TURN = re.compile(r"^=== (user|assistant)$", re.MULTILINE)
#: Prompts of the user's: the path of each below its folder, and its text.
Wording = tuple[tuple[str, str], ...]


def read_wording(folder: Path | None) -> Wording:
    """Return the prompts in `folder`, none without one.

    Raises:
        UsageProblem: the folder does not exist, or one of them cannot be read.
    """
    if folder is None:
        return ()
    if not folder.is_dir():
        raise UsageProblem(f"--brt-prompts: no such folder: {str(folder)!r}")
    found = []
    for path in sorted(name + SUFFIX for name in _names_in(folder)):
        try:
            found.append((path, (folder / path).read_text("utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageProblem(f"--brt-prompts: cannot read {path!r}: {error}") from error
    return tuple(found)


class Prompts:
    """Renders prompts; safe to use from many threads."""

    def __init__(self, wording: Wording = ()) -> None:
        """Take what `wording` has in place of ours.

        Raises:
            UsageProblem: one of its texts replaces no prompt, or is no jinja2.
        """
        self._wording = wording
        self.names = _names_in(BUILT_IN)
        for path, _ in wording:
            self._check(path)

    @cached_property
    def _environment(self) -> jinja2.Environment:
        """A jinja2 in which a name without a value is an error."""
        # When first needed: jinja2 is slow to import, and most runs ask no model.
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        built_in = jinja2.FileSystemLoader(BUILT_IN)
        theirs = jinja2.DictLoader(dict(self._wording))
        loaders = (theirs, built_in, jinja2.PrefixLoader({"built-in": built_in}))
        environment = ImmutableSandboxedEnvironment(
            loader=jinja2.ChoiceLoader(loaders),
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
            UsageProblem: the user's version of it asks for a value that there is not, or fails
                otherwise; the message names the file and the line.
            KeyError: there is no such prompt.
        """
        import jinja2

        if name not in self.names:
            raise KeyError(name)
        try:
            return self._environment.get_template(name + SUFFIX).render(values).strip("\n")
        except jinja2.TemplateError as error:
            raise UsageProblem(_told(error, name)) from error
        except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
            raise UsageProblem(f"--brt-prompts: {name + SUFFIX!r}: {error!r}") from error

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

    def _check(self, path: str) -> None:
        import jinja2

        name = path.removesuffix(SUFFIX)
        if name not in self.names:
            raise UsageProblem(
                f"--brt-prompts: {path!r} replaces no prompt "
                f"(known: {', '.join(sorted(self.names))})"
            )
        try:
            self._environment.get_template(path)
        except jinja2.TemplateError as error:
            raise UsageProblem(_told(error, name)) from error


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


def _told(error: jinja2.TemplateError, name: str) -> str:
    """Return an error of jinja2 in one line, with the place where it is known."""
    import jinja2

    place = repr(name + SUFFIX)
    if isinstance(error, jinja2.TemplateSyntaxError):
        place = f"{(error.name or name + SUFFIX)!r}, line {error.lineno}"
    elif isinstance(error, jinja2.TemplateNotFound):
        return f"--brt-prompts: {place} builds on {error.name!r}, which does not exist"
    return f"--brt-prompts: {place}: {error.message}"
