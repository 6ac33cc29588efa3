"""What ``git apply`` makes of files, and why it refuses a diff.

git is given copies of the files that a diff names, in a folder apart, and no repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from pytest_brt.patches.git import run_git
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.text import decode
from pytest_brt.types import Refused
from pytest_brt.types.refused import (
    FileExists,
    FileGone,
    FileMissing,
    GitFailed,
    HunkAdrift,
    HunkMissing,
    Malformed,
    NotADiff,
    PathFault,
    UnsafePath,
)

_HUNK = re.compile(rb"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
#: How lines of a hunk begin, and the next one.
_OF_HUNK = (b" ", b"+", b"-", b"\\", b"@@ ")
#: What git says, with a path, or with a line of the diff or of the file.
_PLACE = re.compile(rb"^error: patch failed: (.+):(\d+)$", re.MULTILINE)
_MISSING = re.compile(rb"^error: (.+): No such file or directory$", re.MULTILINE)
_EXISTS = re.compile(rb"^error: (.+): already exists in (?:working directory|index)$", re.MULTILINE)
_INVALID = re.compile(rb"^error: invalid path '(.+)'$", re.MULTILINE)
_GONE = re.compile(rb"^error: path (.+) has been renamed/deleted$", re.MULTILINE)
_MALFORMED = re.compile(rb"^error: (.+?)(?: at)? line (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A file that a diff changes or makes."""

    path: str
    #: Lines added and removed, "-" for a binary file.
    added: bytes
    removed: bytes

    @property
    def is_binary(self) -> bool:
        """Whether git cannot tell lines of it."""
        return self.added == b"-"


def named_files(diff: bytes, *options: str) -> tuple[NamedFile, ...]:
    """Return the files that a diff names, as git reads it with some options.

    Raises:
        PatchProblem: git cannot read it.
    """
    reply = run_git(Path("/"), "apply", "--numstat", "-z", *options, stdin=diff)
    if reply.returncode:
        raise PatchProblem(_refusal(diff, reply.stderr))
    return tuple(_read_numstat(reply.stdout))


def _read_numstat(listed: bytes) -> Iterator[NamedFile]:
    for field in filter(None, listed.split(b"\0")):
        added, removed, path = field.split(b"\t", 2)
        yield NamedFile(path=decode(path), added=added, removed=removed)


def mark_ends(diff: bytes) -> bytes:
    r"""Return a diff in which git, counting by itself, sees where the hunks of a file end.

    It takes the header of the next file for lines of a hunk, and stops at prose.

    >>> mark_ends(b"@@ -1 +1 @@\n-a\n+b\n\nand so on\n").decode().splitlines()
    ['@@ -1 +1 @@', '-a', '+b', 'diff -u', 'and so on']
    """
    lines = diff.split(b"\n")
    marked: list[bytes] = []
    is_hunk = False
    for number, line in enumerate(lines):
        after = lines[number + 1 : number + 3]
        is_header = line.startswith(b"--- ") and len(after) == 2 and after[0].startswith(b"+++ ")
        ends = (is_header and after[1].startswith(b"@@ ")) or not line.startswith(_OF_HUNK)
        if is_hunk and line and ends:
            while not marked[-1]:
                marked.pop()
            marked.append(b"diff -u")
            is_hunk = False
        is_hunk = is_hunk or line.startswith(b"@@ ")
        marked.append(line)
    return b"\n".join(marked).rstrip(b"\n") + b"\n"


def apply_in(folder: Path, diff: bytes, options: Sequence[str]) -> Refused | None:
    """Change the files in a folder as a diff says; return why not, where git refuses."""
    reply = run_git(folder, "apply", "--whitespace=nowarn", *options, stdin=diff)
    return _refusal(diff, reply.stderr) if reply.returncode else None


def _refusal(diff: bytes, complaint: bytes) -> Refused:
    """Return why git refuses a diff, from its words."""
    if place := _PLACE.search(complaint):
        return _hunk_missing(diff, decode(place[1]), int(place[2]))
    if missing := _MISSING.search(complaint):
        return FileMissing(path=decode(missing[1]))
    if exists := _EXISTS.search(complaint):
        return FileExists(path=decode(exists[1]))
    if invalid := _INVALID.search(complaint):
        return UnsafePath(path=decode(invalid[1]), fault=PathFault.LEAVES_TREE)
    if gone := _GONE.search(complaint):
        return FileGone(path=decode(gone[1]))
    if malformed := _MALFORMED.search(complaint):
        return Malformed(line=int(malformed[2]), said=decode(malformed[1]))
    if b"No valid patches" in complaint or b"unrecognized input" in complaint:
        return _odd_hunk(diff) or NotADiff()
    first = decode(complaint).strip().partition("\n")[0].removeprefix("error: ")
    return GitFailed(said=f"apply: {first}")


def _odd_hunk(diff: bytes) -> Malformed | None:
    """Return the first line that should begin a hunk and does not; None where there is none."""
    for number, line in enumerate(diff.split(b"\n"), start=1):
        if line.startswith(b"@@") and not _HUNK.match(line):
            said = f"expected '@@ -N,N +N,N @@', found {decode(line)!r}"
            return Malformed(line=number, said=said)
    return None


def _hunk_missing(diff: bytes, path: str, meant: int) -> HunkMissing | HunkAdrift:
    """Return which hunk of a file is meant for a line, the first one, and whether it can be placed.

    git takes lines without context only for the end of a file.
    """
    number, is_here = 0, False
    lines = diff.split(b"\n")
    for line, text in enumerate(lines, start=1):
        if text.startswith(b"--- "):
            number, is_here = 0, path in decode(text)
        elif hunk := _HUNK.match(text):
            number += 1
            if is_here and int(hunk[1]) == meant:
                body = takewhile(lambda text: text.startswith((b" ", b"+", b"-")), lines[line:])
                if not any(text.startswith(b" ") for text in body):
                    return HunkAdrift(path=path, line=line)
                return HunkMissing(path=path, hunk=number, line=line, meant=meant)
    return HunkMissing(path=path, hunk=1, line=1, meant=meant)
