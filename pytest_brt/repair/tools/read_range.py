"""`read_range`: lines of a file, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec, Kind, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.site import Site, listing
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Step

#: Lines that are shown at most.
MOST = 120


def read_range(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        lines = site.lines(path)
        first = max(1, int(action["first"]))
        last = min(int(action["last"]), len(lines), first + MOST - 1)
        if first > len(lines) or last < first:
            return refused(f"{path} has {len(lines)} lines: ask for 1 to {len(lines)}.")
        end = "" if last < len(lines) else ", the end"
        head = f"{path}, lines {first} to {last} of {len(lines)}{end}:"
        return Outcome(observation=f"{head}\n{listing(lines, first, last)}")

    spec = ActionSpec(
        name=Name.READ_RANGE.value,
        about=f"Show lines of a file (at most {MOST}).",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="first", about="first line", kind=Kind.NUMBER),
            Parameter(name="last", about="last line", kind=Kind.NUMBER),
        ),
    )
    return Tool(spec=spec, run=run)
