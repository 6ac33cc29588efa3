"""What an action does: the function behind it, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_brt.dialogue.action import Action, ActionSpec
from pytest_brt.types import Cost, FileChange, Step, Verdict


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
