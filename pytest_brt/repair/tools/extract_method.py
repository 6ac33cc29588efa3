"""`extract_method`: the source of a function, method or class, with line numbers."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.code.facts import DefinitionKind
from pytest_brt.code.index import Definition
from pytest_brt.dialogue.action import Action, ActionSpec, Kind, Parameter
from pytest_brt.dialogue.mend import closest
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.site import Site, listing
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Step

#: Definitions of one name that are shown, and lines of each.
_MOST = 4
_LINES = 160


def extract_method(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path, name = action["path"], action["name"]
        found = methods_called(site, path, name)
        if not found:
            return refused(_missing(site, path, name))
        lines = site.lines(path)
        shown = []
        for one in found[:_MOST]:
            last = min(one.end_line, one.line + _LINES - 1)
            shown.append(
                f"{path}: {one.qualname}, lines {one.line} to {one.end_line}:\n"
                + listing(lines, one.line, last)
            )
        return Outcome(observation="\n\n".join(shown))

    spec = ActionSpec(
        name=Name.EXTRACT_METHOD.value,
        about="Show the whole source of a function or method.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="name", about="name of a function or method in it"),
        ),
    )
    return Tool(spec=spec, run=run)


def methods_called(site: Site, path: str, name: str) -> tuple[Definition, ...]:
    """Return the functions, methods and classes of a file that `name` can mean."""
    bare = name.partition("(")[0].strip(" .:").replace("::", ".")
    inside = [
        one for one in site.index.definitions_in(path) if one.kind is not DefinitionKind.VARIABLE
    ]
    exact = [one for one in inside if f".{one.qualname}".endswith(f".{bare}")]
    if not exact:
        meant = closest(bare.rpartition(".")[2], {one.name for one in inside}).name
        exact = [one for one in inside if meant and one.name == meant]
    return tuple(exact)


def _missing(site: Site, path: str, name: str) -> str:
    elsewhere = [one for one in site.index.definitions(name.rpartition(".")[2]) if one.path != path]
    if elsewhere:
        places = "; ".join(f"{one.path}: {one.qualname}" for one in elsewhere[:_MOST])
        return f"{path} has no {name!r}. It is defined in {places}."
    names = [
        one.qualname
        for one in site.index.definitions_in(path)
        if one.kind is not DefinitionKind.VARIABLE
    ]
    return f"{path} has no {name!r}. It has: {', '.join(names[:30]) or 'no function'}."
