"""The text of a patch → what it says of each file, with the counts of its hunks put right.

What people and models write has prose and fences around it, wrong counts, lost blanks, and dates
in its names. git and unidiff refuse that, or leave out lines without a word. So where each hunk
ends is found here, and unidiff reads the hunks with the counts that they have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchSet

from pytest_brt.patches.header import read_name, split_pair
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.text import encode
from pytest_brt.types import Mending
from pytest_brt.types.refused import EmptyPatch, Malformed, NoFilesText, NotADiff

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_EXTENDED = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    r"|rename old|rename new|similarity index|dissimilarity index|index) (.*)"
)
_BINARY = re.compile(r"GIT binary patch|(?:Binary files|Files) .* differ")
#: Extended headers that name the old and the new file of a move.
_MOVES = (("rename from", "rename to"), ("rename old", "rename new"), ("copy from", "copy to"))
#: The line that ends a mail of ``git format-patch``; the version of git follows.
_SIGNATURE = "-- "
#: What a line inside a hunk can begin with.
_MARKS = (" ", "+", "-", "\\")
#: git and unidiff know this line by its English words only.
NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """What a patch says of one file, its names as written."""

    #: 1-based, in the patch.
    line: int
    #: None when it is created.
    old: str | None
    #: None when it is deleted.
    new: str | None
    #: Both names when it is renamed or copied; they never have a prefix.
    moved: tuple[str, str] | None
    #: Whether the old file stays where it is.
    is_copy: bool
    #: All that are mentioned, as in "100644".
    modes: tuple[str, ...]
    #: That of the new file, "" where nothing is said of it.
    new_mode: str
    is_binary: bool
    #: The numbers of their lines, `diff_line_no`, are those of the patch as it was written.
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What a patch says of each file, in its order."""

    files: tuple[FileDiff, ...]
    #: What was put right to read it.
    mendings: tuple[Mending, ...]


def read_diff(text: str) -> Diff:
    """Return what `text` says of each file.

    Raises:
        PatchProblem: it is empty, holds no diff or what no file can hold, or a part of it cannot
            be read.
    """
    try:
        encode(text)
    except UnicodeEncodeError as error:
        raise PatchProblem(NoFilesText()) from error
    if not text.strip():
        raise PatchProblem(EmptyPatch())
    reader = _Reader(text.removesuffix("\n").split("\n"))
    files = reader.files()
    return Diff(files=files, mendings=(Mending.COUNTS,) if reader.is_recounted else ())


#: Both names of a file; None is /dev/null.
_Pair = tuple[str | None, str | None]


class _Reader:
    """A cursor over the lines of a patch."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self.is_recounted = False

    def files(self) -> tuple[FileDiff, ...]:
        found: list[FileDiff] = []
        while self._at < len(self._lines):
            line = self._line(self._at)
            if line.startswith("diff --git ") or self._is_pair(self._at):
                found.append(self._file())
            elif line.startswith("@@ -"):
                self._fail(self._at, "a hunk without the file's '---' and '+++' lines")
            else:
                self._at += 1
        if not found:
            raise PatchProblem(NotADiff())
        return tuple(found)

    def _line(self, at: int) -> str:
        """Return a line without the carriage return that some way of sending added."""
        return self._lines[at].removesuffix("\r") if at < len(self._lines) else ""

    def _fail(self, at: int, why: str) -> NoReturn:
        raise PatchProblem(Malformed(line=at + 1, said=why))

    def _is_pair(self, at: int) -> bool:
        return self._line(at).startswith("--- ") and self._line(at + 1).startswith("+++ ")

    # -- the header of a file -----------------------------------------------------------------

    def _file(self) -> FileDiff:
        start = self._at
        pair, fields = self._git_header()
        pair = self._pair() or pair
        is_binary = _BINARY.fullmatch(self._line(self._at)) is not None
        self._at += is_binary
        hunks = self._hunks(was_sent_with_cr=self._lines[start].endswith("\r"))
        if pair is None:
            self._fail(start, "the line names no file")
        old, new = pair
        if old is None and new is None:
            self._fail(start, "both names are /dev/null")
        creates = old is None or "new file mode" in fields
        deletes = new is None or "deleted file mode" in fields
        if creates and deletes:
            self._fail(start, "it both creates and deletes the file")
        moved = _moved(fields)
        changes_mode = "old mode" in fields and "new mode" in fields
        if not (hunks or is_binary or moved or creates or deletes or changes_mode):
            self._fail(start, "the header is not followed by a change")
        return FileDiff(
            line=start + 1,
            old=None if creates else old,
            new=None if deletes else new,
            moved=moved,
            is_copy="copy from" in fields,
            modes=_modes(fields),
            new_mode=fields.get("new mode", fields.get("new file mode", "")),
            is_binary=is_binary,
            # One without lines is no change.
            hunks=tuple(hunk for hunk in hunks if hunk),
        )

    def _git_header(self) -> tuple[_Pair | None, dict[str, str]]:
        """Read the lines that only git writes: the names, and the extended header."""
        first = self._line(self._at)
        if not first.startswith("diff --git "):
            return None, {}
        self._at += 1
        fields: dict[str, str] = {}
        while match := _EXTENDED.fullmatch(self._line(self._at)):
            fields[match[1]] = match[2]
            self._at += 1
        return split_pair(first.removeprefix("diff --git ")) or _moved(fields), fields

    def _pair(self) -> _Pair | None:
        if not self._is_pair(self._at):
            return None
        if not self._line(self._at + 2).startswith("@@"):
            self._fail(self._at, "no hunk after the file's '---' and '+++' lines")
        old, new = (read_name(self._line(self._at + place)[4:]) for place in (0, 1))
        self._at += 2
        return old, new

    # -- hunks --------------------------------------------------------------------------------

    def _hunks(self, *, was_sent_with_cr: bool) -> list[Hunk]:
        hunks: list[Hunk] = []
        while self._at < len(self._lines):
            after_blanks = self._at
            while hunks and after_blanks < len(self._lines) and not self._line(after_blanks):
                after_blanks += 1
            if not self._line(after_blanks).startswith("@@"):
                break
            self._at = after_blanks
            hunks.append(self._hunk(was_sent_with_cr=was_sent_with_cr))
        return hunks

    def _hunk(self, *, was_sent_with_cr: bool) -> Hunk:
        start = self._at
        match = _HUNK.match(self._line(start))
        if not match:
            self._fail(start, f"expected '@@ -N,N +N,N @@', found {self._line(start)[:60]!r}")
        old_start, old_count, new_start, new_count = (
            1 if text is None else int(text) for text in match.groups()
        )
        end = self._counted_end(start + 1, old_count, new_count)
        if end is None:
            end = self._guessed_end(start + 1, old_count)
        self._at = end
        body = self._lines[start + 1 : end]
        if was_sent_with_cr:
            # git writes no carriage return in headers: the sender's were all "\n".
            body = [line.removesuffix("\r") for line in body]
        body = [NO_NEWLINE if line.startswith("\\") else line for line in body]
        olds = sum(line[:1] not in ("+", "\\") for line in body)
        news = sum(line[:1] not in ("-", "\\") for line in body)
        self.is_recounted |= (olds, news) != (old_count, new_count)
        if not body:
            return Hunk()
        return self._parsed(start, [f"@@ -{old_start},{olds} +{new_start},{news} @@", *body])

    def _parsed(self, start: int, lines: list[str]) -> Hunk:
        text = "".join(f"{line}\n" for line in ("--- a/file", "+++ b/file", *lines))
        try:
            (file,) = PatchSet(text)
            (hunk,) = file
        except (UnidiffParseError, ValueError) as error:
            self._fail(start, str(error))
        for number, line in enumerate(hunk, start=start + 2):
            line.diff_line_no = number
        return hunk

    def _counted_end(self, at: int, olds: int, news: int) -> int | None:
        """Return the line after a hunk whose counts are right; None when they are not."""
        while olds > 0 or news > 0:
            if at >= len(self._lines):
                return None
            mark = self._line(at)[:1] or " "
            if mark not in _MARKS:
                return None
            olds -= mark in " -"
            news -= mark in " +"
            at += 1
        while at < len(self._lines) and self._lines[at].startswith("\\"):
            at += 1
        # Lines that go on with marks would be dropped silently if the counts were believed.
        goes_on = self._line(at).startswith((" ", "+", "-")) and not self._is_end(at)
        return None if goes_on or olds < 0 or news < 0 else at

    def _guessed_end(self, at: int, olds: int) -> int:
        """Return the line after a hunk whose counts are wrong: as far as lines have marks."""
        start = at
        while at < len(self._lines) and not self._is_end(at):
            at += 1
        counted = sum(line[:1] not in ("+", "\\") for line in self._lines[start:at])
        # Blank lines at the end are context only when the old count has room for them.
        while at > start and not self._line(at - 1) and counted > olds:
            at -= 1
            counted -= 1
        return at

    def _is_end(self, at: int) -> bool:
        """Whether this line cannot belong to the hunk above it."""
        line = self._line(at)
        if line in (_SIGNATURE, _SIGNATURE.rstrip()):
            # A removed "- " looks the same; a signature has one line of version after it.
            return not self._line(at + 2)
        if self._is_pair(at) and self._line(at + 2).startswith("@@"):
            return True
        return bool(line) and line[:1] not in _MARKS


def _moved(fields: Mapping[str, str]) -> tuple[str, str] | None:
    for old, new in _MOVES:
        if old in fields and new in fields:
            return read_name(fields[old]) or "", read_name(fields[new]) or ""
    return None


def _modes(fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the modes that a header mentions; "index" has two hashes, and maybe one."""
    modes = [value for name, value in fields.items() if name.endswith(" mode")]
    return (*modes, *filter(None, [fields.get("index", "").partition(" ")[2]]))
