"""Changes of a tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The new content of one file of a tree; None deletes it."""

    path: str
    content: bytes | None
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A candidate fix, as text."""

    id: str
    #: Path within the folder it came from, as in "fix-03.diff".
    name: str
    text: str
    #: The file it came from, within that folder and as the system calls it; "" for none.
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedPatch:
    """What a patch makes of a tree."""

    patch: Patch
    changes: tuple[FileChange, ...]
    #: Remarks for the report, as in "applied leniently" or "touches tests: left out".
    notes: tuple[str, ...] = ()
