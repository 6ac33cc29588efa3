"""`read_range`: lines of a file, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec, Kind, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.repair.window import Room, window
from pytest_brt.types import Step


def read_range(site: Site, room: Room) -> Tool:
    """Return the tool; `room` is what an observation holds."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        lines = site.lines(path)
        first = max(1, int(action["first"]))
        last = min(int(action["last"]), len(lines))
        if first > len(lines) or last < first:
            return refused(f"{path} has {len(lines)} lines: ask for 1 to {len(lines)}.")

        def head(end: int) -> str:
            over = "" if end < len(lines) else ", the end"
            return f"{path}, lines {first} to {end} of {len(lines)}{over}:"

        def more(start: int) -> str:
            return f"[… go on with lines {start} to {last} …]"

        return Outcome(observation=window(lines, first, last, room, head=head, more=more))

    spec = ActionSpec(
        name=Name.READ_RANGE.value,
        about=f"Show lines of a file, about {room.lines} at a time.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="first", about="first line", kind=Kind.NUMBER),
            Parameter(name="last", about="last line", kind=Kind.NUMBER),
        ),
    )
    return Tool(spec=spec, run=run)
