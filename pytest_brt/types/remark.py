"""What is odd about a patch: its code, and how it applied; `render` makes sentences of it."""

from __future__ import annotations

from enum import StrEnum

from pytest_brt.types.fact import Fact


class LeftOutKind(StrEnum):
    """What a candidate fix does not change."""

    TESTS = "tests"
    PYTEST_CONFIGURATION = "pytest-configuration"
    #: Code that Python starts by itself, such as ``sitecustomize.py``.
    STARTUP_CODE = "startup-code"
    INSTALLED_CODE = "installed-code"
    #: What tools keep, such as caches.
    TOOL_FILES = "tool-files"
    BINARY_FILES = "binary-files"


class AppliedLeniently(Fact, frozen=True, kw_only=True):
    """Its counts, or blanks or ends of lines, are not those of the tree."""


class LeftOutFiles(Fact, frozen=True, kw_only=True):
    """Changes that are no part of a fix were left out."""

    what: LeftOutKind
    paths: tuple[str, ...]


class ChangesNothing(Fact, frozen=True, kw_only=True):
    """The tree is the same with the patch."""


class NeedsBuild(Fact, frozen=True, kw_only=True):
    """These files have no effect until something is built or installed."""

    paths: tuple[str, ...]


class SyntaxErrorAfter(Fact, frozen=True, kw_only=True):
    """A file that could be parsed before cannot any more."""

    path: str
    line: int
    #: Python's own words.
    message: str


class NamesTestTools(Fact, frozen=True, kw_only=True):
    """The patch's code newly names what tests are run by."""

    names: tuple[str, ...]


class SinglesOutInput(Fact, frozen=True, kw_only=True):
    """The patch's code compares with the reported input: it may handle that alone."""

    #: As in "word == 'Old technology'".
    comparison: str


class NotExercised(Fact, frozen=True, kw_only=True):
    """No test reached the patched lines."""


Remark = (
    AppliedLeniently
    | LeftOutFiles
    | ChangesNothing
    | NeedsBuild
    | SyntaxErrorAfter
    | NamesTestTools
    | SinglesOutInput
    | NotExercised
)
