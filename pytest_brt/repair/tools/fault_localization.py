"""`run_fault_localization`: where the bug may be, given or found out."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec
from pytest_brt.dialogue.tool import Outcome, Tool
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Place, Step

#: Places that are told.
_MOST = 8


def fault_localization(site: Site) -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        return Outcome(observation=told_places(site.places(), perfect=site.perfect))

    spec = ActionSpec(
        name=Name.LOCALIZE.value, about="Say which functions and lines are most suspicious."
    )
    return Tool(spec=spec, run=run)


def told_places(places: Sequence[Place], *, perfect: bool) -> str:
    """Return places as a list for a model."""
    if not places:
        return "Nothing points to a place. Search the code for names of the report."
    head = "The bug is here:" if perfect else "The most suspicious places, likeliest first:"
    return "\n".join([head, *(_told(place) for place in places[:_MOST])])


def _told(place: Place) -> str:
    span = f":{place.line}-{place.end_line}" if place.end_line else ""
    name = f" {place.function}" if place.function else ""
    lines = f", lines {', '.join(map(str, sorted(place.lines)))}" if place.lines else ""
    why = f" ({place.reasons[0]})" if place.reasons and place.reasons != ("given",) else ""
    return f"- {place.path}{span}{name}{lines}{why}"
