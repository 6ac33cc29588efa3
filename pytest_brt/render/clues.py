"""What points at a place where a bug may be, in words."""

from __future__ import annotations

from typing import assert_never

from pytest_brt.types import Clue
from pytest_brt.types.clue import (
    CalledWrongly,
    FileNamed,
    GivenByUser,
    NamedByModel,
    OnTraceback,
    RunByReport,
    SharedWords,
    SpokenOf,
)


def clue_words(clue: Clue) -> str:
    """Return what a clue says, as a clause."""
    match clue:
        case GivenByUser():
            return "given"
        case NamedByModel():
            return "the model names it"
        case OnTraceback(function=function, depth=depth):
            return f"the traceback {'passes' if depth else 'ends'} in {function}"
        case FileNamed(name=name, is_module=is_module):
            return f"the report names {'the module ' if is_module else ''}{name}"
        case RunByReport():
            return "the report's code runs it"
        case SpokenOf(name=name):
            return f"the report speaks of {name}"
        case CalledWrongly(name=name):
            return f"an exception says that {name} is called wrongly"
        case SharedWords(words=words):
            return f"shares {', '.join(words)} with the report"
    assert_never(clue)
