"""Hunks as they are given to git, and what says where in their file they belong.

A hunk belongs where its number says when all its lines stand there, else where they stand nearest
to it: git finds that. But with ``--unidiff-zero`` git takes the number's word where lines alone
cannot tell, and machine-written hunks often lack context or always say line 1. Such a hunk must
stand in exactly one place, or it is refused.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from unidiff.patch import Hunk

from pytest_brt.patches.diff import NO_NEWLINE
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.target import Target
from pytest_brt.patches.text import encode
from pytest_brt.types.refused import HunkAdrift


class Sign(Enum):
    """What says where a hunk belongs."""

    #: Its number: all its lines stand there.
    NUMBER = auto()
    #: Its context, which is as ``git diff`` writes it: its lines stand elsewhere.
    CONTEXT = auto()
    #: Its lines alone: they stand elsewhere, and in one place.
    LINES = auto()
    #: Nothing: its lines do not stand anywhere as they are.
    NONE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkLine:
    """A line of a hunk."""

    #: One of " ", "+" and "-".
    mark: str
    #: With its end; the last of a file may have none.
    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a hunk belongs in its file."""

    sign: Sign
    #: Where git is to look first: how many lines of the file are above it.
    start: int
    #: In how many places the hunk's lines stand.
    choices: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedHunk:
    """A hunk with the line ends of its file, and its place there."""

    #: 1-based, within the file of the patch.
    number: int
    #: Of its "@@", 1-based in the patch.
    patch_line: int
    #: The line of the file that it says, from 1.
    meant: int
    lines: tuple[HunkLine, ...]
    place: Place
    #: Whether its line ends are others than in the patch.
    is_converted: bool

    @property
    def is_bare(self) -> bool:
        """Whether it has no context."""
        return not any(line.mark == " " for line in self.lines)


def place_hunks(target: Target, content: bytes) -> tuple[PlacedHunk, ...]:
    """Return the hunks of `target` that change something, placed in its file's `content`.

    Raises:
        PatchProblem: only its line number says where a hunk belongs, and its lines do not stand
            there.
    """
    found: list[PlacedHunk] = []
    for number, hunk in enumerate(target.diff.hunks, start=1):
        if not hunk.added and not hunk.removed:
            continue
        patch_line = (hunk[0].diff_line_no or 0) - 1
        written = _read_lines(hunk)
        lines = _with_ends_of(content, written)
        place = _find_place(hunk.source_start, lines, content)
        if place is None:
            raise PatchProblem(HunkAdrift(path=target.path, line=patch_line))
        placed = PlacedHunk(
            number=number,
            patch_line=patch_line,
            meant=hunk.source_start,
            lines=lines,
            place=place,
            is_converted=lines != written,
        )
        found.append(placed)
    return tuple(found)


# -- lines and their ends -------------------------------------------------------------------------


def _read_lines(hunk: Hunk) -> tuple[HunkLine, ...]:
    lines: list[HunkLine] = []
    for line in hunk:
        if line.line_type != "\\":
            lines.append(HunkLine(mark=line.line_type, text=encode(line.value)))
        elif lines:
            last = lines.pop()
            lines.append(replace(last, text=last.text.removesuffix(b"\n")))
    return tuple(lines)


def _with_ends_of(content: bytes, lines: tuple[HunkLine, ...]) -> tuple[HunkLine, ...]:
    """Return `lines` with the line ends of `content`, when each has one kind and they differ."""
    ends, returns = content.count(b"\n"), content.count(b"\r\n")
    whole = [line for line in lines if line.text.endswith(b"\n")]
    have_returns = {line.text.endswith(b"\r\n") for line in whole}
    if have_returns == {False} and 0 < returns == ends:
        end = b"\r\n"
    elif have_returns == {True} and returns == 0 < ends and any(line.mark != "+" for line in whole):
        end = b"\n"
    else:
        return lines
    return tuple(replace(line, text=_with_end(line.text, end)) for line in lines)


def _with_end(text: bytes, end: bytes) -> bytes:
    stripped = text.removesuffix(b"\n").removesuffix(b"\r")
    return stripped + end if text.endswith(b"\n") else stripped


# -- places ---------------------------------------------------------------------------------------


def _find_place(meant: int, lines: Sequence[HunkLine], content: bytes) -> Place | None:
    """Return where a hunk that says line `meant` belongs; None when nothing but that says it."""
    # The lines of a file end with "\n" alone.
    there = list(io.BytesIO(content))
    olds = [line.text for line in lines if line.mark != "+"]
    if not olds:
        # Nothing to find, and it names the line above it: certain at the end of the file only.
        is_certain = not there or meant == len(there)
        return Place(sign=Sign.NUMBER, start=len(there)) if is_certain else None
    places = list(_find(olds, there))
    wanted, end = max(meant - 1, 0), len(there) - len(olds)
    if any(not line.text.endswith(b"\n") for line in lines):
        # A line without an end, old or new, is the last of its file.
        places = [place for place in places if place == end]
    if wanted in places:
        return Place(sign=Sign.NUMBER, start=wanted)
    ends_with_context = lines[-1].mark == " "
    is_last = any(line.mark == " " for line in lines) and end in places
    is_located = meant > 1 and (ends_with_context or is_last)
    # The last line of a file is like another whether it has an end or not.
    alike = _find([line.rstrip(b"\n") for line in olds], [line.rstrip(b"\n") for line in there])
    if not is_located and len(list(alike)) > 1:
        return None
    if not places:
        return Place(sign=Sign.NONE, start=wanted)
    if len(places) == 1:
        return Place(sign=Sign.CONTEXT if is_located else Sign.LINES, start=places[0])
    start = wanted if ends_with_context else end
    return Place(sign=Sign.CONTEXT, start=start, choices=len(places))


def _find(olds: Sequence[bytes], lines: Sequence[bytes]) -> Iterator[int]:
    """Yield where in `lines` all of `olds` stand, one after another."""
    for place in range(len(lines) - len(olds) + 1):
        if lines[place : place + len(olds)] == olds:
            yield place


# -- the text that git reads ----------------------------------------------------------------------


def hunks_text(hunks: Sequence[PlacedHunk], *, ignore_blanks: bool) -> bytes:
    """Return `hunks` of one file as git reads them, with line numbers that are right."""
    parts: list[bytes] = []
    growth = 0
    for hunk in sorted(hunks, key=lambda hunk: hunk.place.start):
        first = hunk.place.start + 1
        olds = sum(line.mark != "+" for line in hunk.lines)
        news = sum(line.mark != "-" for line in hunk.lines)
        parts.append(f"@@ -{first},{olds} +{first + growth},{news} @@\n".encode())
        for line in hunk.lines:
            parts.append(line.mark.encode() + line.text)
            if not line.text.endswith(b"\n"):
                # When it ignores blanks, git would take an old line that has no end for the
                # beginning of another.
                is_kept = not ignore_blanks or (line is hunk.lines[-1] and line.mark == "+")
                parts.append(f"\n{NO_NEWLINE}\n".encode() if is_kept else b"\n")
        growth += news - olds
    return b"".join(parts)
