"""Why a patch cannot be applied: a code for programs, and a text for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RefusalCode(StrEnum):
    """What is wrong with a patch."""

    EMPTY = "empty-patch"
    NOT_A_DIFF = "not-a-diff"
    #: A part of the diff cannot be read.
    MALFORMED = "malformed"
    #: It changes what no patch may change.
    UNSAFE_PATH = "unsafe-path"
    FILE_MISSING = "file-missing"
    FILE_EXISTS = "file-exists"
    FILE_UNREADABLE = "file-unreadable"
    #: It changes a file that an earlier part of it deletes or moves away.
    FILE_GONE = "file-gone"
    #: The file has no lines like those of a hunk.
    HUNK_MISSING = "hunk-missing"
    #: Nothing but its line number says where a hunk belongs.
    HUNK_ADRIFT = "hunk-adrift"
    #: All that it changes is no part of a fix.
    ONLY_LEFT_OUT = "only-left-out"
    #: Git could not compare or change files.
    GIT_FAILED = "git-failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why a patch cannot be applied."""

    code: RefusalCode
    #: On one line.
    text: str
