"""`get_classes_and_methods`: what a file defines, and where."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.code.facts import DefinitionKind
from pytest_brt.dialogue.action import Action, ActionSpec, Kind, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Step


def classes_and_methods(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        shown = []
        for found in site.index.definitions_in(path):
            if found.kind is DefinitionKind.VARIABLE:
                continue
            word = "class" if found.kind is DefinitionKind.CLASS else "def"
            margin = "  " * found.qualname.count(".")
            shown.append(
                f"{margin}{word} {found.name}{found.signature}  lines {found.line}-{found.end_line}"
            )
        text = "\n".join(shown) or "no class and no function"
        return Outcome(observation=f"{path} defines:\n{text}")

    spec = ActionSpec(
        name=Name.CLASSES_AND_METHODS.value,
        about="List the classes and functions of a file with their lines.",
        parameters=(Parameter(name="path", about="a file", kind=Kind.PATH),),
    )
    return Tool(spec=spec, run=run)
