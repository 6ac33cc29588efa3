"""Dialogues with scripted replies, for the tests."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_brt.agent.action import Action, ActionSpec, Kind, Outcome, Parameter, Tool
from pytest_brt.agent.history import Counter, conversation
from pytest_brt.agent.loop import Budget, Loop, room
from pytest_brt.agent.paths import Paths
from pytest_brt.model.base import Message, Model, Role, Sampling, Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.types import FileChange, Step

CAT = ActionSpec(
    name="cat",
    about="Show a file.",
    parameters=(Parameter(name="path", about="a file", kind=Kind.PATH),),
)
SEARCH = ActionSpec(
    name="code_search",
    about="Look for a word.",
    parameters=(Parameter(name="text", about="a word"),),
)
WRITE = ActionSpec(
    name="write",
    about="Write a file.",
    parameters=(Parameter(name="path", about="a file", kind=Kind.NEW_PATH),),
    most_blocks=1,
)
FINISH = ActionSpec(name="finish", about="Be done.")
SPECS = {spec.name: spec for spec in (CAT, SEARCH, WRITE, FINISH)}
FILES = Paths(frozenset({"pkg/core.py", "pkg/util.py", "tests/test_core.py", "other/util.py"}))
#: Numbers of script files, so that a test can have several.
_NUMBERS = itertools.count()


def header(action: str, **arguments: Any) -> str:
    """Return a reply without code."""
    return json.dumps({"thought": "because", "action": action, **arguments})


def script(folder: Path, *replies: str, context: int = 0) -> ScriptedModel:
    """Return a model that says `replies`, one after the other."""
    path = folder / f"script-{next(_NUMBERS)}.txt"
    path.write_text("".join(f"=== reply\n{reply}\n" for reply in replies), "utf-8")
    return ScriptedModel(str(path), Settings(context=context))


def _cat(action: Action, steps: Sequence[Step]) -> Outcome:
    return Outcome(observation=f"content of {action['path']}")


def _search(action: Action, steps: Sequence[Step]) -> Outcome:
    return Outcome(
        observation="\n".join(f"hit {n} of {action['text']}: {n * n}" for n in range(99))
    )


def _write(action: Action, steps: Sequence[Step]) -> Outcome:
    change = FileChange(path=action["path"], content="".join(action.blocks).encode())
    return Outcome(observation="written", changes=(change,))


def _finish(action: Action, steps: Sequence[Step]) -> Outcome:
    return Outcome(observation="done", done=True)


TOOLS = {
    spec.name: Tool(spec=spec, run=run)
    for spec, run in ((CAT, _cat), (SEARCH, _search), (WRITE, _write), (FINISH, _finish))
}


def loop(model: Model, *, steps: int = 10, **changes: Any) -> Loop:
    """Return a dialogue of at most `steps` with the tools above."""
    opening = (Message(role=Role.USER, text="Find the bug."),)
    sampling = Sampling(max_tokens=100)
    count = Counter(model)

    def messages(past: Sequence[Step]) -> tuple[Message, ...]:
        return conversation(opening, past, most=room(model, sampling), count=count)

    given: dict[str, Any] = {
        "model": model,
        "tools": TOOLS,
        "messages": messages,
        "budget": Budget(steps=steps),
        "paths": FILES,
        "sampling": sampling,
        **changes,
    }
    return Loop(**given)
