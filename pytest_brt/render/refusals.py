"""Why a patch cannot be applied, in words; every room above `types` may use them."""

from __future__ import annotations

from typing import assert_never

from pytest_brt.render.remarks import file_names, left_out_words
from pytest_brt.types import Refused
from pytest_brt.types.refused import (
    EmptyPatch,
    FileExists,
    FileGone,
    FileMissing,
    FileUnreadable,
    GitFailed,
    HunkAdrift,
    HunkMissing,
    Malformed,
    NoFilesText,
    NotADiff,
    OnlyLeftOut,
    PathFault,
    UnsafePath,
)

#: What stands after a path.
_FAULTS = {
    PathFault.ABSOLUTE: " is absolute",
    PathFault.CONTROL_CHARACTER: " has a control character",
    PathFault.LEAVES_TREE: " leaves the tree",
    PathFault.GIT_FOLDER: " is in git's own folder",
    PathFault.TOO_LONG: " is too long",
    PathFault.NO_FILE_IN_PATCH: " is {detail} in the patch; only files may change",
    PathFault.NO_FILE_IN_TREE: " is not an ordinary file in the tree",
    PathFault.LINK: " is a symbolic link",
    PathFault.THROUGH_LINK: " goes through a symbolic link, {detail!r}",
    PathFault.THROUGH_FILE: " goes through a file, {detail!r}",
}


def refusal_sentence(refused: Refused) -> str:
    """Return on one line why a patch cannot be applied."""
    match refused:
        case EmptyPatch():
            return "empty patch: there is no text in it"
        case NotADiff():
            return (
                "not a diff: no 'diff --git' line and no '---' line with '+++' after it"
                " (write it with 'git diff')"
            )
        case NoFilesText():
            return "not a diff: the text has characters that no file can hold"
        case Malformed(line=line, said=said):
            return f"malformed diff at line {line}: {said}"
        case UnsafePath(path=path, fault=fault, detail=detail):
            return f"unsafe path: {path!r}{_FAULTS[fault].format(detail=detail)}"
        case GitFailed(said=said):
            return f"git {said}"
        case OnlyLeftOut(left_out=left_out):
            kinds = (f"{file_names(kind.paths)} ({left_out_words(kind.what)})" for kind in left_out)
            return f"nothing is left to apply: left out {', '.join(kinds)}"
        case FileMissing(path=path):
            return f"file missing: {path!r} is not in the tree"
        case FileExists(path=path):
            return f"file exists: {path!r} is in the tree and the patch creates it"
        case FileUnreadable(path=path, said=said):
            return f"cannot read {path!r} in the tree: {said}"
        case _:
            return f"does not apply: {_unfit_words(refused)}"


def _unfit_words(refused: FileGone | HunkMissing | HunkAdrift) -> str:
    match refused:
        case FileGone(path=path):
            return f"{path!r} is not there any more"
        case HunkMissing(path=path, hunk=hunk, line=line, meant=meant):
            return (
                f"{path!r} has no lines like those of hunk {hunk} (line {line} of the patch, meant "
                f"for line {meant} of the file)"
            )
        case HunkAdrift(path=path, line=line):
            return (
                f"the hunk at line {line} of the patch has no context that says where in {path!r} "
                "it belongs (write it with 'git diff -U3')"
            )
        case _:
            assert_never(refused)
