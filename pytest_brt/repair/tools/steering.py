"""`collect_more_information` and `goal_accomplished`: what to do next, and that all is done."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.memory import PATCH
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Step


def collect_more() -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        return Outcome(observation="You can read and search again.")

    spec = ActionSpec(
        name=Name.COLLECT_MORE.value,
        about="Go back to reading and searching before the next fix.",
        repeatable=True,
    )
    return Tool(spec=spec, run=run)


def accomplished() -> Tool:
    """Return the tool."""

    def run(_action: Action, steps: Sequence[Step]) -> Outcome:
        if not any(step.fact(PATCH) for step in steps):
            return refused("No fix passes the tests yet. Write another fix.")
        return Outcome(observation="Done.", done=True)

    spec = ActionSpec(
        name=Name.ACCOMPLISHED.value,
        about="End: a fix passes the tests. Refused before one does.",
        parameters=(Parameter(name="reason", about="why the fix is right", most=300, default=""),),
        repeatable=True,
    )
    return Tool(spec=spec, run=run)
