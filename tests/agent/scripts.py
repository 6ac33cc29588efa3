"""A small agent, and dialogues with scripted replies, for the tests."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pytest_brt.agent.action import File, NewFile, Outcome, action, actions_of
from pytest_brt.agent.loop import Session, Turn
from pytest_brt.agent.memory import Counter, conversation
from pytest_brt.agent.trajectory import Log
from pytest_brt.agent.tree import Tree
from pytest_brt.model.base import Message, Model, Role, Sampling, Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.types import FileChange, Finished, Step

FILES = frozenset({"pkg/core.py", "pkg/util.py", "tests/test_core.py", "other/util.py"})
OPENING = (Message(role=Role.USER, text="Find the bug."),)
#: Numbers of script files, so that a test can have several.
_NUMBERS = itertools.count()


class Finder:
    """Looks for a bug."""

    def __init__(self) -> None:
        self.actions = actions_of(self)

    def allowed(self, steps: Sequence[Step]) -> Sequence[str]:
        return tuple(self.actions)

    def messages(self, steps: Sequence[Step], room: int, count: Counter) -> Sequence[Message]:
        return conversation(OPENING, steps, room, count)

    @action()
    def cat(self, turn: Turn, path: Annotated[File, "a file"]) -> Outcome:
        """Show a file."""
        return Outcome(observation=f"content of {path}")

    @action()
    def code_search(self, turn: Turn, text: Annotated[str, "a word"]) -> Outcome:
        """Look for a word."""
        return Outcome(observation="\n".join(f"hit {n} of {text}: {n * n}" for n in range(99)))

    @action(code=1)
    def write(
        self, turn: Turn, path: Annotated[NewFile, "a file"], code: tuple[str, ...]
    ) -> Outcome:
        """Write a file."""
        change = FileChange(path=path, content="".join(code).encode())
        return Outcome(observation="written", changes=(change,))

    @action()
    def finish(self, turn: Turn) -> Outcome:
        """Be done."""
        return Outcome(observation="done", effects=(Finished(),))


ACTIONS = actions_of(Finder())


def header(action: str, **arguments: Any) -> str:
    """Return a reply without code."""
    return json.dumps({"thought": "because", "action": action, **arguments})


def script(folder: Path, *replies: str, context: int = 0) -> ScriptedModel:
    """Return a model that says `replies`, one after the other."""
    path = folder / f"script-{next(_NUMBERS)}.txt"
    path.write_text("".join(f"=== reply\n{reply}\n" for reply in replies), "utf-8")
    return ScriptedModel(str(path), Settings(context=context))


def session(model: Model, *, steps: int = 10, **changes: Any) -> Session:
    """Return what a dialogue of at most `steps` has at hand; the tree is never read."""
    given: dict[str, Any] = {
        "model": model,
        "editor": model,
        "tree": Tree(root=Path("/nowhere"), files=FILES),
        "log": Log("i", "a"),
        "sampling": Sampling(max_tokens=100),
        "max_steps": steps,
        "purpose": "test",
        **changes,
    }
    return Session(**given)
