"""An action of an agent: a method, whose signature is what a model can ask for.

::

    @action()
    def read_range(
        self, turn: Turn, path: Annotated[File, "a file"], first: Annotated[int, "first line"] = 1
    ) -> Outcome:
        "Show a file from a line on."

The name is the action's, the first line of the docstring is what the model reads, and each
parameter after `turn` is an argument, annotated with its type, a few words for the model and, where
it is not 160, the most characters. One called `code` takes the fenced blocks after the header.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NewType, TypeVar, get_type_hints

import msgspec

from pytest_brt.model.base import Grammar
from pytest_brt.model.form import Choice, Field, Header, Number, Text, grammar_for
from pytest_brt.types import Call, Effect, FileChange

#: The field in which a model says why; it comes first, so that it prepares the choice.
THOUGHT = "thought"
#: The field that names the action.
ACTION = "action"
#: Longest thought, and longest argument that states no other length, in characters.
LONGEST_THOUGHT, LONGEST = 300, 160
#: Where a method keeps how it is an action.
_MARK = "_brt_action"

Method = TypeVar("Method", bound=Callable[..., "Outcome"])


#: A file of the tree; what comes close to the name of one is taken for it.
File = NewType("File", str)
#: A file of the tree and where in it, as in "pkg/core.py:120"; or the file alone.
Place = NewType("Place", str)
#: A file of the tree, or one that is to be made.
NewFile = NewType("NewFile", str)
#: Where an action may be asked for without a file.
NO_FILE = File("")


class Refusal(Exception):
    """An action is not carried out; the text tells the model what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an action did."""

    #: For the model; the loop shortens what is too long.
    observation: str
    #: Files of the private tree as they are now; only those that it changed.
    changes: tuple[FileChange, ...] = ()
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of an action."""

    name: str
    #: A few words for the model, as in "a file of the project".
    about: str
    #: `str`, `int`, or one of the kinds of files.
    type: Any = str
    longest: int = LONGEST
    #: Taken when none is given; None makes it required.
    default: str | int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How an action is asked for."""

    arguments: tuple[Argument, ...] = ()
    #: Fenced blocks of Python that may follow the header, and most lines of each.
    blocks: int = 0
    lines: int = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something that a model can ask for."""

    name: str
    #: One sentence for the model.
    about: str
    #: Takes the turn and the arguments by name; raises Refusal, or a BrtError that is told.
    run: Callable[..., Outcome]
    form: Form = Form()
    #: Whether doing it again can tell anything new though no file was changed.
    repeatable: bool = False
    #: Whether a model that can think should before it chooses among this and others.
    deserves_thought: bool = False

    def typed(self, call: Call) -> dict[str, Any]:
        """Return what `run` is given for a call of it."""
        given = dict(call.arguments)
        values = {one.name: one.type(given[one.name]) for one in self.form.arguments}
        return {**values, "code": call.code} if self.form.blocks else values

    def example(self) -> str:
        """Return the reply that asks for it, with its arguments' descriptions as values."""
        fields: dict[str, object] = {THOUGHT: "why", ACTION: self.name}
        for one in self.form.arguments:
            fields[one.name] = 1 if one.type is int else one.about
        header = msgspec.json.format(msgspec.json.encode(fields), indent=0).decode()
        return header + ("\n```python\n…\n```" if self.form.blocks else "")

    def description(self) -> str:
        """Return what it does, with the lengths that its free text may have."""
        texts = [one for one in self.form.arguments if one.type is str]
        lengths = ", ".join(f'"{one.name}": at most {one.longest} characters' for one in texts)
        return f"{self.about} ({lengths})" if lengths else self.about


def action(
    about: str = "",
    *,
    code: int = 0,
    lines: int = 80,
    repeatable: bool = False,
    deserves_thought: bool = False,
) -> Callable[[Method], Method]:
    """Mark a method of an agent as an action; up to `code` blocks of `lines` lines may follow.

    What the model reads of it is `about`, or else the first line of its docstring.
    """

    def mark(method: Method) -> Method:
        told = about or (inspect.getdoc(method) or "").partition("\n")[0]
        method.__dict__[_MARK] = (told, code, lines, repeatable, deserves_thought)
        return method

    return mark


def actions_of(agent: object) -> dict[str, Action]:
    """Return the actions of an agent by their names, in the order of its class body."""
    bodies = (vars(kind) for kind in reversed(type(agent).__mro__))
    names = (n for body in bodies for n, member in body.items() if hasattr(member, _MARK))
    return {name: _read(getattr(agent, name)) for name in dict.fromkeys(names)}


def _read(method: Any) -> Action:
    about, blocks, lines, repeatable, deserves_thought = getattr(method, _MARK)
    hints = get_type_hints(method, include_extras=True)
    _, *parameters = inspect.signature(method).parameters.values()  # but for `turn`
    arguments = tuple(_argument(p, hints[p.name]) for p in parameters if p.name != "code")
    return Action(
        name=method.__name__,
        about=about,
        run=method,
        form=Form(arguments=arguments, blocks=blocks, lines=lines),
        repeatable=repeatable,
        deserves_thought=deserves_thought,
    )


def _argument(parameter: inspect.Parameter, hint: Any) -> Argument:
    about, *longest = hint.__metadata__
    return Argument(
        name=parameter.name,
        about=about,
        type=hint.__origin__,
        longest=longest[0] if longest else LONGEST,
        default=None if parameter.default is inspect.Parameter.empty else parameter.default,
    )


def describe(actions: Iterable[Action]) -> str:
    """Return the actions as a list for a prompt: what each does and how it is asked for."""
    return "\n".join(f"- {one.name}: {one.description()}\n  {one.example()}" for one in actions)


def grammar_of(actions: Mapping[str, Action]) -> Grammar:
    """Return the grammar of replies that ask for one of `actions`."""
    return _grammar(tuple((name, action.form) for name, action in actions.items()))


@cache
def _grammar(forms: Sequence[tuple[str, Form]]) -> Grammar:
    return grammar_for(*(_header(name, form) for name, form in forms))


def _header(name: str, form: Form) -> Header:
    fields: list[Field] = [
        (THOUGHT, Text(shortest=1, longest=LONGEST_THOUGHT)),
        (ACTION, Choice(words=(name,))),
    ]
    for one in form.arguments:
        fields.append((one.name, Number() if one.type is int else Text(longest=one.longest)))
    return Header(fields=tuple(fields), blocks=form.blocks, lines=form.lines)
