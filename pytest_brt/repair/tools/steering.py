"""The tools that only say where a repair stands: its hypothesis, what comes next, its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_brt.dialogue.action import Action, ActionSpec, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.memory import DISPUTED, PATCH
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Step

#: Each with what is answered.
_SAID = (
    (
        ActionSpec(
            name=Name.HYPOTHESIS.value,
            about="Say what the bug is: where, and why it goes wrong. Then you can fix it.",
            parameters=(Parameter(name="hypothesis", about="what is wrong, and where", most=400),),
            weighty=True,
        ),
        "Noted. Collect what you need to fix it, then write the fix.",
    ),
    (
        ActionSpec(
            name=Name.DISCARD.value,
            about="Give the hypothesis up, as when fixes of it do not work.",
            parameters=(Parameter(name="reason", about="why it is wrong", most=300),),
            repeatable=True,
        ),
        "Discarded. Look again, then express another hypothesis.",
    ),
    (
        ActionSpec(
            name=Name.COLLECT_MORE.value,
            about="Go back to reading and searching before the next fix.",
            repeatable=True,
        ),
        "You can read and search again.",
    ),
)


def steering() -> tuple[Tool, ...]:
    """Return the tools; the last one is refused until a fix passes the tests."""

    def answering(text: str) -> Callable[[Action, Sequence[Step]], Outcome]:
        return lambda _action, _steps: Outcome(observation=text)

    def accomplished(_action: Action, steps: Sequence[Step]) -> Outcome:
        if not any(step.fact(PATCH) for step in steps):
            disputed = any(step.fact(DISPUTED) for step in steps)
            so_far = "Every fix so far breaks existing tests." if disputed else "No fix works yet."
            return refused(f"{so_far} Write another fix.")
        return Outcome(observation="Done.", done=True)

    spec = ActionSpec(
        name=Name.ACCOMPLISHED.value,
        about="End: a fix passes the tests. Refused before one does.",
        parameters=(Parameter(name="reason", about="why the fix is right", most=300, default=""),),
        repeatable=True,
    )
    return (
        *(Tool(spec=spec, run=answering(text)) for spec, text in _SAID),
        Tool(spec=spec, run=accomplished),
    )
