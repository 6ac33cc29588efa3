"""What a model may ask for, what it asked for, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

import msgspec

from pytest_brt.codec import content_id
from pytest_brt.model.base import Grammar
from pytest_brt.model.form import Choice, Field, Header, Number, Text, grammar_for
from pytest_brt.types import Cost, FileChange, Step, Verdict

#: The field in which a model says why; it comes first, so that it prepares the choice.
THOUGHT = "thought"
#: The field that names the action.
ACTION = "action"
#: Longest thought, in characters.
LONGEST_THOUGHT = 300


class Kind(StrEnum):
    """What an argument is."""

    TEXT = "text"
    #: A file of the tree; what comes close to one is taken for it.
    PATH = "path"
    #: A file of the tree, and where in it, as in "pkg/core.py:120"; or the file alone.
    PLACE = "place"
    #: A file of the tree, or one that is to be made.
    NEW_PATH = "new-path"
    NUMBER = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of an action."""

    name: str
    #: A few words for the model, as in "a file of the project".
    about: str
    kind: Kind = Kind.TEXT
    #: The only values that the grammar has; any when empty.
    choices: tuple[str, ...] = ()
    #: Taken when none is given; None makes it required.
    default: str | None = None
    #: Most characters.
    most: int = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """An action as the model is told of it."""

    name: str
    #: One short sentence for the model.
    about: str
    parameters: tuple[Parameter, ...] = ()
    #: Fenced blocks of Python that may follow the header.
    most_blocks: int = 0
    #: Most lines of a block.
    lines: int = 80
    #: Whether doing it again later can tell anything new though no file was changed.
    repeatable: bool = False
    #: Whether a model that can think should before it chooses among this and others.
    weighty: bool = False

    def example(self) -> str:
        """Return the reply that asks for it, with its arguments' descriptions as values."""
        fields: list[tuple[str, str | int]] = [(THOUGHT, "why"), (ACTION, self.name)]
        fields += [(p.name, 1 if p.kind is Kind.NUMBER else p.about) for p in self.parameters]
        inner = ", ".join(
            f"{msgspec.json.encode(k).decode()}: {msgspec.json.encode(v).decode()}"
            for k, v in fields
        )
        block = "\n```python\n…\n```" if self.most_blocks else ""
        return f"{{{inner}}}{block}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What a model asked for, put right where that was possible."""

    name: str
    #: In the order of the parameters; all of them, with their defaults.
    arguments: tuple[tuple[str, str], ...] = ()
    thought: str = ""
    #: Fenced blocks of code, each ending with a newline.
    blocks: tuple[str, ...] = ()
    #: What was put right.
    mended: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> str:
        """Return the argument called `name`; KeyError when the action has none such."""
        return dict(self.arguments)[name]

    @property
    def key(self) -> str:
        """Equal for the same action, arguments and code, whatever the thought."""
        flat = [part for pair in self.arguments for part in pair]
        return content_id(self.name, *flat, *self.blocks)


def describe(specs: Iterable[ActionSpec]) -> str:
    """Return the actions as a list for a prompt: each with its sentence and how it is asked for."""
    return "\n".join(f"- {spec.name}: {_about(spec)}\n  {spec.example()}" for spec in specs)


def _about(spec: ActionSpec) -> str:
    """Return what an action does, with the lengths that its free text may have."""
    texts = [p for p in spec.parameters if p.kind is Kind.TEXT]
    lengths = ", ".join(f'"{p.name}": at most {p.most} characters' for p in texts)
    return f"{spec.about} ({lengths})" if lengths else spec.about


@cache
def grammar_of(specs: tuple[ActionSpec, ...]) -> Grammar:
    """Return the grammar of replies that ask for one of `specs`."""
    return grammar_for(*map(_header, specs))


def _header(spec: ActionSpec) -> Header:
    fields: list[Field] = [
        (THOUGHT, Text(shortest=1, longest=LONGEST_THOUGHT)),
        (ACTION, Choice(words=(spec.name,))),
    ]
    fields += [(parameter.name, _value(parameter)) for parameter in spec.parameters]
    return Header(fields=tuple(fields), blocks=spec.most_blocks, lines=spec.lines)


def _value(parameter: Parameter) -> Text | Number | Choice:
    if parameter.choices:
        return Choice(words=parameter.choices)
    if parameter.kind is Kind.NUMBER:
        return Number()
    return Text(longest=parameter.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an action did."""

    #: For the model; shortened by the loop when it is too long.
    observation: str
    #: Files of the private tree as they are now; only those that it changed.
    changes: tuple[FileChange, ...] = ()
    #: What a test did, when one was run.
    verdict: Verdict | None = None
    #: Whether the dialogue is over now.
    done: bool = False
    #: Why it was not carried out, or "".
    problem: str = ""
    #: What later steps need to know, by name.
    facts: tuple[tuple[str, str], ...] = ()
    #: What it cost to ask a model within the action.
    cost: Cost = field(default_factory=Cost)


def refused(problem: str) -> Outcome:
    """Return the outcome of an action that is not carried out."""
    return Outcome(observation=problem, problem=problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """An action and what it does.

    `run` gets the action and all earlier steps, and keeps nothing itself. A BrtError that it
    raises is told to the model and does not end the dialogue.
    """

    spec: ActionSpec
    run: Callable[[Action, Sequence[Step]], Outcome]


def changed_files(steps: Sequence[Step]) -> dict[str, FileChange]:
    """Return the files that `steps` changed, by path, as they are after the last of them."""
    return {change.path: change for step in steps for change in step.changes}
