"""`search_code_base`: where words are used in names, approximately, as file → class → method."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.code.facts import DefinitionKind
from pytest_brt.code.lookup import Found, find_definitions, sought
from pytest_brt.code.source import decode
from pytest_brt.dialogue.action import Action, ActionSpec, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.repair.workspace import Workspace
from pytest_brt.types import Step

#: Names that are shown.
_MOST = 20
#: Lines at the top of a definition that need no mention.
_TOP = 2


def search_code_base(site: Site) -> Tool:
    """Return the tool; it searches the files as they are after the steps so far."""

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        wanted = sought(action["keywords"])
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
            words = ", ".join(one.text for one in wanted)
            return Outcome(observation=f"Nothing is called like {words}.")
        return Outcome(observation=_told(hits))

    spec = ActionSpec(
        name=Name.SEARCH.value,
        about="Find files, classes and functions by words of their names or code.",
        parameters=(Parameter(name="keywords", about="a few words or identifiers"),),
    )
    return Tool(spec=spec, run=run)


def _told(hits: Sequence[Found]) -> str:
    """Return the hits, those of a file together, the file of the best one first."""
    files: dict[str, list[Found]] = {}
    for hit in hits:
        files.setdefault(hit.path, []).append(hit)
    lines = []
    for path, inside in files.items():
        lines.append(path)
        lines += [_line(hit) for hit in inside]
    return "\n".join(lines)


def _line(hit: Found) -> str:
    one = hit.definition
    word = "class " if one.kind is DefinitionKind.CLASS else ""
    name = one.qualname.replace(".", " → ")
    # A name stands some lines below its first decorator.
    see = f", see {hit.line}" if hit.line > one.line + _TOP else ""
    where = f"line {one.line}{see}"
    return f"  {word}{name} ({where}): {', '.join(hit.words)}"
