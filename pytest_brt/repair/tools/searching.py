"""The tools that say where to look: names by words, calls of a function, suspicious places."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.code.file_facts import DefinitionKind
from pytest_brt.code.lookup import Hit, find_calls, find_definitions, wanted_in
from pytest_brt.code.source import decode
from pytest_brt.dialogue.action import Action, ActionSpec, Outcome, Parameter, Tool, refused
from pytest_brt.repair.site import Site, Workspace
from pytest_brt.repair.states import ToolName
from pytest_brt.types import Place, Step

#: Names that are shown.
_MOST = 20
#: Lines at the top of a definition that need no mention.
_TOP = 2


def search_code_base(site: Site) -> Tool:
    """Return the tool; it searches the files as they are after the steps so far."""

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        wanted = wanted_in(action["keywords"])
        if not wanted:
            return refused("'keywords' holds no word: name a few, as in 'parse date'.")
        space = Workspace.after(site, steps)
        hits = find_definitions(
            wanted,
            site.index,
            read=lambda path: decode(space.read(path) or b""),
            changed=space.unindexed,
            limit=_MOST,
        )
        if not hits:
            return Outcome(observation=f"Nothing has a name like {', '.join(wanted)}.")
        lines = ([path, *map(_line, inside)] for path, inside in hits.items())
        return Outcome(observation="\n".join(line for of_file in lines for line in of_file))

    spec = ActionSpec(
        name=ToolName.SEARCH.value,
        about="Find files, classes and functions by words of their names or code.",
        parameters=(Parameter(name="keywords", about="a few words or identifiers"),),
    )
    return Tool(spec=spec, run=run)


def _line(hit: Hit) -> str:
    one = hit.definition
    word = "class " if one.kind is DefinitionKind.CLASS else ""
    name = one.qualname.replace(".", " → ")
    # A name stands some lines below its first decorator.
    see = f", see {hit.line}" if hit.line > one.line + _TOP else ""
    where = f"line {one.line}{see}"
    return f"  {word}{name} ({where}): {', '.join(hit.words)}"


#: Calls that are shown.
_CALLS = 25


def similar_calls(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        name = action["name"].partition("(")[0].strip().rpartition(".")[2]
        if not name.isidentifier():
            return refused(
                f"{action['name']!r} is not the name of a function: write it without dots."
            )
        path = site.find(action["path"]) if action["path"] else ""
        where = path or "the project"
        calls = find_calls(name, site.index, path=path, limit=_CALLS)
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
        name=ToolName.SIMILAR_CALLS.value,
        about="Show calls of a function, in one file or in the whole project.",
        parameters=(
            Parameter(name="name", about="name of the function"),
            Parameter(name="path", about="a file, or nothing for the project", default=""),
        ),
    )
    return Tool(spec=spec, run=run)


#: Places that are told.
_PLACES = 8


def fault_localization(site: Site) -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        return Outcome(observation=told_places(site.places(), perfect=site.perfect))

    spec = ActionSpec(
        name=ToolName.LOCALIZE.value, about="Say which functions and lines are most suspicious."
    )
    return Tool(spec=spec, run=run)


def told_places(places: Sequence[Place], *, perfect: bool) -> str:
    """Return places as a list for a model."""
    if not places:
        return "Nothing points to a place. Search the code for names from the report."
    head = "The bug is here:" if perfect else "The most suspicious places, likeliest first:"
    return "\n".join([head, *(_told_place(place) for place in places[:_PLACES])])


def _told_place(place: Place) -> str:
    span = f":{place.line}-{place.end_line}" if place.end_line else ""
    name = f" {place.function}" if place.function else ""
    lines = f", lines {', '.join(map(str, sorted(place.lines)))}" if place.lines else ""
    why = f" ({place.reasons[0]})" if place.reasons and place.reasons != ("given",) else ""
    return f"- {place.path}{span}{name}{lines}{why}"
