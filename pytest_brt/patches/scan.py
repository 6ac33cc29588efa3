"""Text → the diffs in it, prose and fences left aside."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import dataclass, field

from pytest_brt.errors import PatchProblem
from pytest_brt.patches.diff import FileDiff, Hunk
from pytest_brt.patches.names import read_name, split_pair

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_EXTENDED = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    r"|rename old|rename new|similarity index|dissimilarity index|index) (.*)"
)
_BLOCK = re.compile(r"(literal|delta) (\d{1,12})")
#: Base 85 as git writes it: a length letter, then groups of five.
_BASE85 = re.compile(r"[A-Za-z](?:[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5})+")
#: The line that ends a mail of ``git format-patch``; the version of git follows.
_SIGNATURE = "-- "
#: A file that unpacks to more than this is no source code, but an attack on memory.
_LARGEST = 64 * 1024 * 1024
#: What a line inside a hunk can begin with.
_MARKS = (" ", "+", "-", "\\")


def scan_diff(text: str) -> tuple[FileDiff, ...]:
    """Return what `text` says of each file, in its order.

    Raises:
        PatchProblem: it is empty, holds no diff, or a part of one cannot be read.
    """
    if not text.strip():
        raise PatchProblem("empty patch: there is no text in it")
    lines = text.split("\n")
    if not lines[-1]:
        del lines[-1]
    return _Scanner(lines).files()


@dataclass(slots=True)
class _Headers:
    """The lines between 'diff --git' and the first hunk, as they are read."""

    pair: tuple[str, str] | None = None
    fields: dict[str, str] = field(default_factory=dict)
    #: Names of '---' and '+++'; None inside means /dev/null.
    minus: tuple[str | None] | None = None
    plus: tuple[str | None] | None = None


class _Scanner:
    """A cursor over the lines of a patch."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def files(self) -> tuple[FileDiff, ...]:
        found: list[FileDiff] = []
        while self._at < len(self._lines):
            line = self._line(self._at)
            if line.startswith("diff --git "):
                found.append(self._git_file())
            elif self._is_pair(self._at):
                found.append(self._plain_file())
            elif line.startswith("@@ -"):
                self._fail(self._at, "a hunk without the file's '---' and '+++' lines")
            else:
                self._at += 1
        if not found:
            raise PatchProblem(
                "not a diff: no 'diff --git' line and no '---' line with '+++' after it"
                " (write it with 'git diff')"
            )
        return tuple(found)

    def _line(self, at: int) -> str:
        """Return a line without the carriage return that some way of sending added."""
        return self._lines[at].removesuffix("\r") if at < len(self._lines) else ""

    def _fail(self, at: int, why: str) -> None:
        raise PatchProblem(f"malformed diff at line {at + 1}: {why}")

    def _is_pair(self, at: int) -> bool:
        return self._line(at).startswith("--- ") and self._line(at + 1).startswith("+++ ")

    def _git_file(self) -> FileDiff:
        start = self._at
        headers = _Headers(pair=split_pair(self._line(start)[len("diff --git ") :]))
        self._at += 1
        while match := _EXTENDED.fullmatch(self._line(self._at)):
            headers.fields[match[1]] = match[2]
            self._at += 1
        if self._is_pair(self._at):
            self._read_pair(headers)
        return self._rest_of_file(start, headers)

    def _plain_file(self) -> FileDiff:
        start = self._at
        headers = _Headers()
        self._read_pair(headers)
        return self._rest_of_file(start, headers)

    def _read_pair(self, headers: _Headers) -> None:
        headers.minus = (read_name(self._line(self._at)[4:]),)
        headers.plus = (read_name(self._line(self._at + 1)[4:]),)
        if not self._line(self._at + 2).startswith("@@"):
            self._fail(self._at, "no hunk after the file's '---' and '+++' lines")
        self._at += 2

    def _rest_of_file(self, start: int, headers: _Headers) -> FileDiff:
        fields = headers.fields
        binary, lacks_data = self._binary()
        hunks = self._hunks(was_sent_with_cr=self._lines[start].endswith("\r"))
        moved = _moved(fields)
        creates, deletes = "new file mode" in fields, "deleted file mode" in fields
        if headers.minus and headers.plus:
            old, new = headers.minus[0], headers.plus[0]
        elif headers.pair:
            old, new = headers.pair
        elif moved:
            old, new = moved
        else:
            self._fail(start, "the line names no file")
        creates, deletes = creates or old is None, deletes or new is None
        modes = "old mode" in fields and "new mode" in fields
        if not (hunks or binary or lacks_data or moved or creates or deletes or modes):
            self._fail(start, "the header is not followed by a change")
        if old is None and new is None:
            self._fail(start, "both names are /dev/null")
        index_mode = fields.get("index", "").partition(" ")[2]
        return FileDiff(
            line=start + 1,
            old=None if creates else old,
            new=None if deletes else new,
            moved=moved,
            is_copy="copy from" in fields,
            creates=creates,
            deletes=deletes,
            old_mode=fields.get("old mode") or fields.get("deleted file mode") or index_mode,
            new_mode=fields.get("new mode") or fields.get("new file mode", ""),
            hunks=hunks,
            index=fields.get("index", ""),
            binary=binary,
            lacks_data=lacks_data,
        )

    def _binary(self) -> tuple[tuple[str, ...] | None, bool]:
        line = self._line(self._at)
        if line.startswith(("Binary files ", "Files ")) and line.endswith(" differ"):
            self._at += 1
            return None, True
        if line != "GIT binary patch":
            return None, False
        taken = [line]
        self._at += 1
        while match := _BLOCK.fullmatch(self._line(self._at)):
            begin, first = self._at, len(taken) + 1
            taken.append(match[0])
            self._at += 1
            while _BASE85.fullmatch(self._line(self._at)):
                taken.append(self._line(self._at))
                self._at += 1
            size = int(match[2])
            if match[1] == "delta":
                size = max(size, delta_size(taken[first]) if len(taken) > first else 0)
            if size > _LARGEST:
                self._fail(begin, f"binary data of {size} bytes (64 MiB at most)")
            taken.append("")
            self._at += not self._line(self._at)
        if len(taken) == 1:
            self._fail(self._at, "no data after 'GIT binary patch'")
        return tuple(taken), False

    def _hunks(self, *, was_sent_with_cr: bool) -> tuple[Hunk, ...]:
        hunks: list[Hunk] = []
        while self._at < len(self._lines):
            after_blanks = self._at
            while hunks and after_blanks < len(self._lines) and not self._line(after_blanks):
                after_blanks += 1
            if not self._line(after_blanks).startswith("@@"):
                break
            self._at = after_blanks
            hunks.append(self._hunk(was_sent_with_cr=was_sent_with_cr))
        return tuple(hunks)

    def _hunk(self, *, was_sent_with_cr: bool) -> Hunk:
        start = self._at
        match = _HUNK.match(self._line(start))
        if not match:
            raise PatchProblem(
                f"malformed hunk at line {start + 1}: expected '@@ -N,N +N,N @@',"
                f" found {self._line(start)[:60]!r}"
            )
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
        return Hunk(
            line=start + 1,
            old_start=old_start,
            old_count=old_count,
            new_start=new_start,
            new_count=new_count,
            body=tuple(body),
        )

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


def delta_size(line: str) -> int:
    """Return how long the result of a binary delta is, from its first line of base 85.

    A delta begins with the lengths of what it is made from and of what it makes; a few bytes
    can make a file of any length. 0 where the line says neither: git then refuses it.
    """
    try:
        packed = base64.b85decode(line[1:])
        data = zlib.decompressobj().decompress(packed, 32)
    except (ValueError, zlib.error):
        return 0
    numbers = [0]
    shift = 0
    for byte in data:
        numbers[-1] |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            if len(numbers) == 2:
                return numbers[1]
            numbers.append(0)
            shift = 0
    return 0
