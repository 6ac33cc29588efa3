"""The tools that read a file: lines of it, what it defines, and the source of a definition."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.code.file_facts import Definition, DefinitionKind
from pytest_brt.dialogue.action import Action, ActionSpec, Kind, Outcome, Parameter, Tool, refused
from pytest_brt.dialogue.paths import closest
from pytest_brt.repair.site import Room, Site, window
from pytest_brt.repair.states import ToolName
from pytest_brt.types import Step


def read_range(site: Site, room: Room) -> Tool:
    """Return the tool; `room` is what an observation holds."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        return show_lines(path, site.lines(path), int(action["first"]), int(action["last"]), room)

    spec = ActionSpec(
        name=ToolName.READ_RANGE.value,
        about=f"Show lines of a file, about {room.lines} at a time.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="first", about="first line", kind=Kind.NUMBER),
            Parameter(name="last", about="last line", kind=Kind.NUMBER),
        ),
    )
    return Tool(spec=spec, run=run)


def show_lines(path: str, lines: tuple[str, ...], first: int, last: int, room: Room) -> Outcome:
    """Return the lines of a file that were asked for, as far as there is room."""
    first, last = max(1, first), min(last, len(lines))
    if last < first:
        return refused(f"{path} has {len(lines)} lines: ask for 1 to {len(lines)}.")
    end, shown = window(lines, first, last, room)
    over = "" if end < len(lines) else ", the end"
    more = f"\n[… go on with line {end + 1} …]" if end < last else ""
    text = f"{path}, lines {first} to {end} of {len(lines)}{over}:\n{shown}{more}"
    return Outcome(observation=text)


def classes_and_methods(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        shown = []
        for found in _defined(site, path):
            word = "class" if found.kind is DefinitionKind.CLASS else "def"
            margin = "  " * found.qualname.count(".")
            shown.append(
                f"{margin}{word} {found.name}{found.signature}  lines {found.line}-{found.end_line}"
            )
        text = "\n".join(shown) or "no class and no function"
        return Outcome(observation=f"{path} defines:\n{text}")

    spec = ActionSpec(
        name=ToolName.CLASSES_AND_METHODS.value,
        about="List the classes and functions of a file with their lines.",
        parameters=(Parameter(name="path", about="a file", kind=Kind.PATH),),
    )
    return Tool(spec=spec, run=run)


#: Definitions of one name that are shown.
_DEFINITIONS = 4


def extract_method(site: Site, room: Room) -> Tool:
    """Return the tool; `room` is what an observation holds."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path, name = action["path"], action["name"]
        found = methods_called(site, path, name)
        if not found:
            return refused(_missing(site, path, name))
        return Outcome(observation=_shown(site.lines(path), path, found[:_DEFINITIONS], room))

    spec = ActionSpec(
        name=ToolName.EXTRACT_METHOD.value,
        about="Show the whole source of a function or method.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="name", about="name of a function or method in it"),
        ),
    )
    return Tool(spec=spec, run=run)


def _shown(lines: tuple[str, ...], path: str, found: Sequence[Definition], room: Room) -> str:
    """Return the sources of definitions; what does not fit is named."""
    shown: list[str] = []
    for one in found:
        where = f"{path}: {one.qualname}, lines {one.line} to {one.end_line}"
        left = room.most - room.count("\n\n".join(shown))
        if left < room.most // 4:
            shown.append(f"{where}: no room here")
            continue

        end, code = window(lines, one.line, one.end_line, Room(most=left, count=room.count))
        more = f"\n[… go on with read_range {path} {end + 1} {one.end_line} …]"
        shown.append(f"{where}:\n{code}{more if end < one.end_line else ''}")
    return "\n\n".join(shown)


def _defined(site: Site, path: str) -> list[Definition]:
    """Return the functions, methods and classes of a file."""
    known = site.index.definitions_in(path)
    return [one for one in known if one.kind is not DefinitionKind.VARIABLE]


def methods_called(site: Site, path: str, name: str) -> tuple[Definition, ...]:
    """Return the functions, methods and classes of a file that `name` can mean."""
    bare = name.partition("(")[0].strip(" .:").replace("::", ".")
    inside = _defined(site, path)
    exact = [one for one in inside if f".{one.qualname}".endswith(f".{bare}")]
    if not exact:
        meant = closest(bare.rpartition(".")[2], {one.name for one in inside}).name
        exact = [one for one in inside if meant and one.name == meant]
    return tuple(exact)


def _missing(site: Site, path: str, name: str) -> str:
    elsewhere = [one for one in site.index.definitions(name.rpartition(".")[2]) if one.path != path]
    if elsewhere:
        places = "; ".join(f"{one.path}: {one.qualname}" for one in elsewhere[:_DEFINITIONS])
        return f"{path} has no {name!r}. It is defined in {places}."
    names = [one.qualname for one in _defined(site, path)]
    return f"{path} has no {name!r}. It has: {', '.join(names[:30]) or 'no function'}."
