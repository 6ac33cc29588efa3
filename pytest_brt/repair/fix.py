"""A fix as a model writes it: lines of files inserted, deleted and replaced, by their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.code.source import SourceText, read_source
from pytest_brt.errors import EditProblem, FixProblem
from pytest_brt.patches.judges import left_out_reason
from pytest_brt.types import FileChange

#: Gives a file's content by its path in the tree; None when there is no such file.
Read = Callable[[str], bytes | None]


class EditKind(StrEnum):
    """What an edit does."""

    REPLACE = "replace"
    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEdit:
    """One change of one file; numbers are those of the file as it is in the tree."""

    path: str
    kind: EditKind
    #: 1-based; an insertion comes before this line.
    first: int
    #: The last line that is replaced or deleted; as `first` for an insertion.
    last: int
    #: New lines without line ends; none for a deletion.
    lines: tuple[str, ...] = ()

    @property
    def span(self) -> str:
        """Its lines, as in "5" or "10-12"."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Changes that belong together."""

    edits: tuple[LineEdit, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it changes, each once."""
        return tuple(dict.fromkeys(edit.path for edit in self.edits))


def apply_fix(fix: Fix, read: Read) -> tuple[FileChange, ...]:
    """Return what `fix` makes of the files it names; those that stay as they are are left out.

    Encoding and line ends of each file are kept.

    Raises:
        FixProblem: it cannot be applied; one line says why and what to write instead.
    """
    if not fix.edits:
        raise FixProblem("the fix changes nothing: it has no edit (write at least one)")
    changes = []
    for path in fix.paths:
        before = read(path)
        if before is None:
            raise FixProblem(f"no such file: {path!r} (use a path as search_code_base shows it)")
        edits = [edit for edit in fix.edits if edit.path == path]
        content = _edited(path, before, edits)
        reason = left_out_reason(path, before, content)
        if reason:
            raise FixProblem(f"{path!r} is {reason}: a fix changes the code (choose other lines)")
        if content != before:
            changes.append(FileChange(path=path, content=content))
    if not changes:
        raise FixProblem("the fix leaves the code as it is (write lines that differ)")
    return tuple(changes)


def lines_of(content: bytes) -> tuple[str, ...]:
    """Return the lines of a file, without line ends, as their numbers count them."""
    return tuple(line.removesuffix("\r") for line in _split(_source("", content).text)[0])


def _source(path: str, content: bytes) -> SourceText:
    """Return a file as text; one that is not in the encoding it declares as Latin-1."""
    try:
        return read_source(path, content)
    except EditProblem:
        return SourceText(path=path, text=content.decode("latin-1"), encoding="latin-1")


def _split(text: str) -> tuple[list[str], bool]:
    """Return lines, carriage returns included, and whether the last one has an end."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    return lines[: len(lines) - ended], ended


def _edited(path: str, before: bytes, edits: Sequence[LineEdit]) -> bytes:
    source = _source(path, before)
    lines, ended = _split(source.text)
    _check(path, edits, len(lines))
    # From the end on, so that the numbers of what comes before stay true; of insertions at one
    # place the one written first comes first.
    order = sorted(range(len(edits)), key=lambda n: (edits[n].first, _starts_later(edits[n]), n))
    for number in reversed(order):
        edit = edits[number]
        start = edit.first - 1
        end = start if edit.kind is EditKind.INSERT else edit.last
        lines[start:end] = [line + source.newline[:-1] for line in edit.lines]
    try:
        return source.encode("\n".join(lines) + ("\n" if ended and lines else ""))
    except EditProblem as problem:
        raise FixProblem(str(problem)) from problem


def _starts_later(edit: LineEdit) -> bool:
    return edit.kind is not EditKind.INSERT


def _check(path: str, edits: Sequence[LineEdit], count: int) -> None:
    """Raise when an edit is outside of the file, or two of them take the same line."""
    taken: dict[int, LineEdit] = {}
    for edit in edits:
        most = count + 1 if edit.kind is EditKind.INSERT else count
        if not 1 <= edit.first <= most or not edit.first <= edit.last <= most:
            raise FixProblem(
                f"{path!r} has {count} lines: {edit.kind} {edit.first}-{edit.last} is outside "
                "(read the lines first, and use their numbers)"
            )
        if edit.kind is EditKind.INSERT:
            continue
        for line in range(edit.first, edit.last + 1):
            if line in taken:
                raise FixProblem(
                    f"line {line} of {path!r} is changed twice (write one edit for it)"
                )
            taken[line] = edit
    for edit in edits:
        around = taken.get(edit.first)
        if edit.kind is EditKind.INSERT and around is not None and around.first < edit.first:
            raise FixProblem(
                f"line {edit.first} of {path!r} is replaced and inserted at (write one edit for it)"
            )
