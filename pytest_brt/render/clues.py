"""What points at a place where a bug may be, in words."""

from __future__ import annotations

from typing import assert_never

from pytest_brt.types import Clue
from pytest_brt.types.clue import (
    BaseOfUsed,
    FileNamed,
    GivenByUser,
    LacksMethod,
    NamedByModel,
    OnTestStack,
    OnTraceback,
    RunByReport,
    RunByTests,
    SharedWords,
    SpokenOf,
    UsedByReport,
)


def clue_words(clue: Clue) -> str:
    """Return what a clue says, as a clause."""
    match clue:
        case GivenByUser():
            return "given"
        case NamedByModel():
            return "the model names the file"
        case OnTraceback(function=function, depth=depth):
            return f"the traceback {'passes' if depth else 'ends'} in {function}"
        case FileNamed(name=name, is_module=is_module):
            return f"the report names {'the module ' if is_module else ''}{name}"
        case SpokenOf(name=name):
            return f"the report speaks of {name}"
        case RunByReport():
            return "the report's code runs it"
        case UsedByReport(name=name):
            return f"the report's code names {name}"
        case BaseOfUsed(name=name):
            return f"a base of {name}, which the report's code names"
        case LacksMethod(name=name, defined_in=paths):
            where = f", which {' and '.join(paths)} defines" if paths else ""
            return f"it has no {name}{where}"
        case SharedWords(words=words):
            return f"shares {', '.join(words)} with the report"
        case OnTestStack(line=line, depth=depth):
            return f"a failing test {'passes' if depth else 'ends'} here, line {line}"
        case RunByTests():
            return (
                f"run by {clue.failing} of {clue.all_failing} failing and "
                f"{clue.passing} of {clue.all_passing} passing tests"
            )
    assert_never(clue)
