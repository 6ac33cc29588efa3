"""What points at a place where a bug may be; `render` makes sentences of it."""

from __future__ import annotations

from pytest_brt.types.fact import Fact


class GivenByUser(Fact, frozen=True, kw_only=True):
    """The user names the place."""


class NamedByModel(Fact, frozen=True, kw_only=True):
    """A model that was to choose among the places names this one instead."""


class OnTraceback(Fact, frozen=True, kw_only=True):
    """A traceback of the report has a frame of the function."""

    function: str
    #: Frames of the project below it; 0 where the traceback ends.
    depth: int


class FileNamed(Fact, frozen=True, kw_only=True):
    """The report names the file."""

    #: A path or a dotted module, as the report has it.
    name: str
    is_module: bool


class SpokenOf(Fact, frozen=True, kw_only=True):
    """The report speaks of the module or class that it is in."""

    #: Of the module or class.
    name: str


class RunByReport(Fact, frozen=True, kw_only=True):
    """The report's own code runs it."""


class CalledWrongly(Fact, frozen=True, kw_only=True):
    """An exception says that it was called with the wrong arguments."""

    #: As the exception names it.
    name: str


class SharedWords(Fact, frozen=True, kw_only=True):
    """It has words of the report."""

    #: As the report spells them, those that say most first.
    words: tuple[str, ...]


Clue = (
    GivenByUser
    | NamedByModel
    | OnTraceback
    | FileNamed
    | SpokenOf
    | RunByReport
    | CalledWrongly
    | SharedWords
)
