"""Why a patch cannot be applied; `render` makes a sentence of it."""

from __future__ import annotations

from enum import StrEnum

from pytest_brt.types.fact import Fact
from pytest_brt.types.remark import LeftOutFiles


class PathFault(StrEnum):
    """What is unsafe about a path; some have a detail."""

    ABSOLUTE = "absolute"
    CONTROL_CHARACTER = "control-character"
    LEAVES_TREE = "leaves-tree"
    GIT_FOLDER = "git-folder"
    TOO_LONG = "too-long"
    #: Detail: what the patch makes it.
    NO_FILE_IN_PATCH = "no-file-in-patch"
    NO_FILE_IN_TREE = "no-file-in-tree"
    LINK = "link"
    #: Detail: the part of it that is one.
    THROUGH_LINK = "through-link"
    THROUGH_FILE = "through-file"


class EmptyPatch(Fact, frozen=True, kw_only=True):
    """There is no text in it."""


class NotADiff(Fact, frozen=True, kw_only=True):
    """No line of it begins a diff."""


class NoFilesText(Fact, frozen=True, kw_only=True):
    """It has characters that no file can hold."""


class Malformed(Fact, frozen=True, kw_only=True):
    """A part of the diff cannot be read."""

    #: 1-based, in the patch.
    line: int
    #: What is wrong there; shown, never compared.
    said: str


class UnsafePath(Fact, frozen=True, kw_only=True):
    """It changes what no patch may change."""

    path: str
    fault: PathFault
    detail: str = ""


class FileMissing(Fact, frozen=True, kw_only=True):
    """It changes a file that is not in the tree."""

    path: str


class FileExists(Fact, frozen=True, kw_only=True):
    """It creates a file that is in the tree."""

    path: str


class FileUnreadable(Fact, frozen=True, kw_only=True):
    """A file of the tree cannot be read; `said` holds the system's words."""

    path: str
    said: str


class FileGone(Fact, frozen=True, kw_only=True):
    """It changes a file that an earlier part of it deletes or moves away."""

    path: str


class HunkMissing(Fact, frozen=True, kw_only=True):
    """The file has no lines like those of a hunk."""

    path: str
    #: 1-based, within the file.
    hunk: int
    #: 1-based line of the patch, and the line of the file that it was meant for.
    line: int
    meant: int


class HunkAdrift(Fact, frozen=True, kw_only=True):
    """Nothing but its line number says where a hunk belongs."""

    path: str
    #: 1-based, in the patch.
    line: int


class OnlyLeftOut(Fact, frozen=True, kw_only=True):
    """All that it changes is no part of a fix."""

    left_out: tuple[LeftOutFiles, ...]


class GitFailed(Fact, frozen=True, kw_only=True):
    """Git could not compare or change files; `said` holds what is known of it."""

    said: str


Refused = (
    EmptyPatch
    | NotADiff
    | NoFilesText
    | Malformed
    | UnsafePath
    | FileMissing
    | FileExists
    | FileUnreadable
    | FileGone
    | HunkMissing
    | HunkAdrift
    | OnlyLeftOut
    | GitFailed
)
