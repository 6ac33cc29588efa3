"""`find_similar_api_calls`: how others call something."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.code.lookup import find_calls
from pytest_brt.dialogue.action import Action, ActionSpec, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Step

#: Calls that are shown.
_MOST = 25


def similar_calls(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        name = action["name"].partition("(")[0].strip().rpartition(".")[2]
        if not name.isidentifier():
            return refused(f"{action['name']!r} is no name of a function: write it without dots.")
        path = site.find(action["path"]) if action["path"] else ""
        where = path or "the project"
        calls = find_calls(name, site.index, path=path, limit=_MOST)
        if not calls:
            like = site.index.names_like(name, limit=3)
            hint = f" Names like it: {', '.join(like)}." if like else ""
            return Outcome(observation=f"Nothing calls {name} in {where}.{hint}")
        shown = "\n".join(
            f"{call.path}:{call.line}{f' in {call.caller}' if call.caller else ''}: {call.text}"
            for call in calls
        )
        return Outcome(observation=f"Calls of {name} in {where}:\n{shown}")

    spec = ActionSpec(
        name=Name.SIMILAR_CALLS.value,
        about="Show calls of a function, in one file or in the whole project.",
        parameters=(
            Parameter(name="name", about="name of the function"),
            Parameter(name="path", about="a file, or nothing for the project", default=""),
        ),
    )
    return Tool(spec=spec, run=run)
