"""`express_hypothesis` and `discard_hypothesis`: what the bug is held to be."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Step


def express_hypothesis() -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        return Outcome(observation="Noted. Collect what you need to fix it, then write the fix.")

    spec = ActionSpec(
        name=Name.HYPOTHESIS.value,
        about="Say what the bug is: where, and why it goes wrong. Then you can fix it.",
        parameters=(Parameter(name="hypothesis", about="what is wrong, and where", most=400),),
        weighty=True,
    )
    return Tool(spec=spec, run=run)


def discard_hypothesis() -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        return Outcome(observation="Discarded. Look again, then express another hypothesis.")

    spec = ActionSpec(
        name=Name.DISCARD.value,
        about="Give the hypothesis up, as when fixes of it do not work.",
        parameters=(Parameter(name="reason", about="why it is wrong", most=300),),
        repeatable=True,
    )
    return Tool(spec=spec, run=run)
