"""Text → the diffs in it, as unidiff reads them.

unidiff reads what git and diff write. What people and models write has prose and fences around
it, wrong counts, lost blanks, and dates in its names; unidiff refuses that, or leaves out lines
without a word. So each file is first written as git would write it, and then unidiff reads it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NoReturn

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchedFile, PatchSet

from pytest_brt.patches.file_names import quote, read_name, split_pair
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.types import Mending
from pytest_brt.types.refused import EmptyPatch, Malformed, NotADiff

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_EXTENDED = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    r"|rename old|rename new|similarity index|dissimilarity index|index) (.*)"
)
#: The line that ends a mail of ``git format-patch``; the version of git follows.
_SIGNATURE = "-- "
#: What a line inside a hunk can begin with.
_MARKS = (" ", "+", "-", "\\")
_NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diffs:
    """What a patch says of each file, names as written, and what was put right to read it."""

    #: The numbers of their lines, `diff_line_no`, are those of the patch as it was written.
    files: tuple[PatchedFile, ...]
    #: As in "hunk counts corrected".
    repairs: tuple[Mending, ...]


def scan_diff(text: str) -> Diffs:
    """Return what `text` says of each file, in its order.

    Raises:
        PatchProblem: it is empty, holds no diff, or a part of one cannot be read.
    """
    if not text.strip():
        raise PatchProblem(EmptyPatch())
    lines = text.split("\n")
    if not lines[-1]:
        del lines[-1]
    scanner = _Scanner(lines)
    files = scanner.files()
    return Diffs(files=files, repairs=(Mending.COUNTS,) if scanner.is_recounted else ())


def moved(file: PatchedFile) -> tuple[str, str] | None:
    """Return the names of a file that is renamed or copied, which never have a prefix."""
    return _moved(_fields(file))


def is_copy(file: PatchedFile) -> bool:
    """Whether the old file stays where it is."""
    return "copy from" in _fields(file)


def _fields(file: PatchedFile) -> dict[str, str]:
    found = (_EXTENDED.fullmatch(line.rstrip("\n")) for line in file.patch_info or ())
    return {match[1]: match[2] for match in found if match}


#: Both names of a file; None is /dev/null.
_Pair = tuple[str | None, str | None]


class _Scanner:
    """A cursor over the lines of a patch."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self.is_recounted = False

    def files(self) -> tuple[PatchedFile, ...]:
        found: list[PatchedFile] = []
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

    def _file(self) -> PatchedFile:
        start = self._at
        pair: _Pair | None = None
        fields: dict[str, str] = {}
        first = self._line(start)
        if first.startswith("diff --git "):
            pair = split_pair(first.removeprefix("diff --git "))
            self._at += 1
            while match := _EXTENDED.fullmatch(self._line(self._at)):
                fields[match[1]] = match[2]
                self._at += 1
            pair = pair or _moved(fields)
        if self._is_pair(self._at):
            pair = (read_name(self._line(self._at)[4:]), read_name(self._line(self._at + 1)[4:]))
            if not self._line(self._at + 2).startswith("@@"):
                self._fail(self._at, "no hunk after the file's '---' and '+++' lines")
            self._at += 2
        return self._rest_of_file(start, pair, fields)

    def _rest_of_file(self, start: int, pair: _Pair | None, fields: dict[str, str]) -> PatchedFile:
        is_binary = self._passes_binary()
        bodies = self._hunks(was_sent_with_cr=self._lines[start].endswith("\r"))
        if pair is None:
            self._fail(start, "the line names no file")
        old, new = pair
        if old is None and new is None:
            self._fail(start, "both names are /dev/null")
        creates = old is None or "new file mode" in fields
        deletes = new is None or "deleted file mode" in fields
        modes = "old mode" in fields and "new mode" in fields
        if not (bodies or is_binary or _moved(fields) or creates or deletes or modes):
            self._fail(start, "the header is not followed by a change")
        self._check_modes(start, fields)
        if creates and deletes:
            self._fail(start, "it both creates and deletes the file")
        names = (quote(old or new or ""), quote(new or old or ""))
        head = [f"diff --git {names[0]} {names[1]}", *_extended(fields, creates, deletes)]
        if is_binary:
            head.append(f"Binary files {names[0]} and {names[1]} differ")
        # A hunk without lines is no change, and unidiff would take the next line for its first.
        bodies = {at: body for at, body in bodies.items() if body}
        if bodies:
            head.append("--- " + ("/dev/null" if creates else names[0]))
            head.append("+++ " + ("/dev/null" if deletes else names[1]))
        lines = [*head, *chain.from_iterable(bodies.values())]
        file = self._read(start, lines)
        for hunk, at in zip(file, bodies, strict=True):
            for number, line in enumerate(hunk, start=at + 2):
                line.diff_line_no = number
        return file

    def _check_modes(self, start: int, fields: dict[str, str]) -> None:
        """Raise where unidiff would pass over a mode."""
        modes = [value for name, value in fields.items() if name.endswith(" mode")]
        for mode in (*modes, fields.get("index", "").partition(" ")[2]):
            if mode and not mode.isdecimal():
                self._fail(start, f"mode {mode!r} is not a number")

    def _read(self, start: int, lines: Sequence[str]) -> PatchedFile:
        try:
            (file,) = PatchSet("".join(f"{line}\n" for line in lines))
        except (UnidiffParseError, ValueError) as error:
            raise PatchProblem(Malformed(line=start + 1, said=str(error))) from error
        file.diff_line_no = start + 1
        return file

    def _passes_binary(self) -> bool:
        """Pass over the line that says that a change is binary; its data are never looked at."""
        line = self._line(self._at)
        is_binary = line == "GIT binary patch" or (
            line.startswith(("Binary files ", "Files ")) and line.endswith(" differ")
        )
        self._at += is_binary
        return is_binary

    def _hunks(self, *, was_sent_with_cr: bool) -> dict[int, list[str]]:
        """Return the lines of each hunk for unidiff, by where its "@@" is, from 0."""
        hunks: dict[int, list[str]] = {}
        while self._at < len(self._lines):
            after_blanks = self._at
            while hunks and after_blanks < len(self._lines) and not self._line(after_blanks):
                after_blanks += 1
            if not self._line(after_blanks).startswith("@@"):
                break
            self._at = after_blanks
            hunks[after_blanks] = self._hunk(was_sent_with_cr=was_sent_with_cr)
        return hunks

    def _hunk(self, *, was_sent_with_cr: bool) -> list[str]:
        """Return a hunk with its "@@" first, no lines where there is nothing in it."""
        start = self._at
        match = _HUNK.match(self._line(start))
        if not match:
            found = f"expected '@@ -N,N +N,N @@', found {self._line(start)[:60]!r}"
            raise PatchProblem(Malformed(line=start + 1, said=found))
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
        # unidiff and git know a marker by its English words only.
        body = [_NO_NEWLINE if line.startswith("\\") else line for line in body]
        olds = sum(line[:1] not in ("+", "\\") for line in body)
        news = sum(line[:1] not in ("-", "\\") for line in body)
        self.is_recounted |= (olds, news) != (old_count, new_count)
        header = f"@@ -{old_start},{olds} +{new_start},{news} @@"
        return [header, *body] if body else []

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
        taken = [line[:1] for line in self._lines[start:at]]
        counted = sum(mark not in ("+", "\\") for mark in taken)
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


def _moved(fields: dict[str, str]) -> tuple[str, str] | None:
    for old, new in (
        ("rename from", "rename to"),
        ("rename old", "rename new"),
        ("copy from", "copy to"),
    ):
        if old in fields and new in fields:
            return read_name(fields[old]) or "", read_name(fields[new]) or ""
    return None


def _extended(fields: dict[str, str], creates: bool, deletes: bool) -> list[str]:
    """Return the lines between the first and the names, as git writes them."""
    fields = dict(fields)
    if creates:
        fields.setdefault("new file mode", "100644")
    elif deletes:
        fields.setdefault(
            "deleted file mode", fields.get("index", "").partition(" ")[2] or "100644"
        )
    if "index" in fields:
        # Models make hashes up, and not always of hexadecimal digits: only the mode counts.
        fields["index"] = f"0..0 {fields['index'].partition(' ')[2]}".rstrip()
    return [f"{name} {value}" for name, value in fields.items()]
