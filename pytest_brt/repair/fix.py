"""A fix as a model writes it: lines of files inserted, deleted and replaced, by their numbers.

The form that models are asked for names the places in one line and has the code outside of JSON,
one block per place that gets new lines, in their order::

    {"thought": "…", "action": "write_fix", "changes": "pkg/a.py replace 10-12; pkg/a.py delete 20"}
    ```python
    new lines instead of 10 to 12
    ```

The paper's JSON is read too.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_brt.agent.tree import text_of
from pytest_brt.errors import EditProblem, FixProblem
from pytest_brt.patches.left_out import left_out_kind
from pytest_brt.render.remarks import left_out_words
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


#: Changes that belong together.
Fix = tuple[LineEdit, ...]


def paths_of(fix: Fix) -> tuple[str, ...]:
    """Return the files that a fix changes, each once."""
    return tuple(dict.fromkeys(edit.path for edit in fix))


def apply_fix(fix: Fix, read: Read) -> tuple[FileChange, ...]:
    """Return what `fix` makes of the files it names; those that stay as they are are left out.

    Encoding and line ends of each file are kept.

    Raises:
        FixProblem: it cannot be applied; one line says why and what to write instead.
    """
    if not fix:
        raise FixProblem("the fix changes nothing: it has no edit (write at least one)")
    changes = []
    for path in paths_of(fix):
        before = read(path)
        if before is None:
            raise FixProblem(f"no such file: {path!r} (use a path as search_code_base shows it)")
        content = _edited(path, before, [edit for edit in fix if edit.path == path])
        kind = left_out_kind(path, before, content)
        if kind is not None:
            what = left_out_words(kind)
            raise FixProblem(f"{path!r} is {what}: a fix changes the code (choose other lines)")
        if content != before:
            changes.append(FileChange(path=path, content=content))
    if not changes:
        raise FixProblem("the fix leaves the code as it is (write lines that differ)")
    return tuple(changes)


def _split(text: str) -> tuple[list[str], bool]:
    """Return lines, carriage returns included, and whether the last one has an end."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    return lines[: len(lines) - ended], ended


def _edited(path: str, before: bytes, edits: Sequence[LineEdit]) -> bytes:
    source = text_of(path, before)
    lines, ended = _split(source.text)
    _check(path, edits, len(lines))
    # From the end on, so that the numbers of what comes before stay true; of insertions at one
    # place, which come before what replaces it, the one written first comes first.
    for edit in reversed(sorted(edits, key=lambda e: (e.first, e.kind is not EditKind.INSERT))):
        start = edit.first - 1
        end = start if edit.kind is EditKind.INSERT else edit.last
        lines[start:end] = [line + source.newline[:-1] for line in edit.lines]
    try:
        return source.encode("\n".join(lines) + ("\n" if ended and lines else ""))
    except EditProblem as problem:
        raise FixProblem(str(problem)) from problem


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
        for line in range(edit.first, edit.last + 1) if edit.kind is not EditKind.INSERT else ():
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


_EDIT = re.compile(
    r"^(?:(?P<path>.+?)[\s:,]+)?(?P<kind>replace|insert|delete)(?:\s+lines?)?\s+"
    r"(?P<first>\d+)(?:\s*(?:-|–|to|\.\.)\s*(?P<last>\d+))?$",
    re.IGNORECASE,
)
_FORM = "write it as 'path replace 10-12; path insert 5; path delete 20-21'"
#: By what the paper's form is known.
_PAPER = ("line_number", '"deletions"', "file_path")
#: The key of a file's path in the paper's form, and the shorter ones that models use.
_PATH = ("file_path", "file_name", "path", "file")


def parse_fix(places: str, blocks: Sequence[str], path: str = "") -> Fix:
    """Return the fix of these places and blocks; `path` is the file of places that name none.

    The places may be the paper's JSON instead, and so may the first block.

    Raises:
        FixProblem: it is neither; the text says what is missing.
    """
    for text in (places, *blocks[:1]):
        if text.lstrip().startswith(("[", "{")) and any(mark in text for mark in _PAPER):
            return parse_paper_fix(text)
    found = []
    left = list(blocks)
    for text in filter(None, map(str.strip, re.split(r"[;\n]+", places))):
        match = _EDIT.match(text)
        where = (match["path"] or path) if match else ""
        if match is None or not where:
            raise FixProblem(f"{text!r} names no place to change ({_FORM})")
        kind = EditKind(match["kind"].lower())
        first = int(match["first"])
        last = first if kind is EditKind.INSERT else int(match["last"] or first)
        if kind is not EditKind.DELETE and not left:
            raise FixProblem(
                f"{text!r} has no block of code: one ```python block per replace and insert, in "
                "their order"
            )
        lines = () if kind is EditKind.DELETE else _lines(left.pop(0))
        where = where.strip(" '\"`")
        found.append(LineEdit(path=where, kind=kind, first=first, last=last, lines=lines))
    if not found:
        raise FixProblem(f"'changes' names no place to change ({_FORM})")
    if left:
        raise FixProblem(
            f"{len(left)} more block{'s' if len(left) > 1 else ''} of code than replaces and "
            f"inserts in 'changes' ({_FORM})"
        )
    return tuple(found)


def parse_paper_fix(text: str) -> Fix:
    """Return the fix that the paper's JSON tells (004, write_fix): a list with a file each.

    It may be Python's notation of it. A line that is both deleted and modified, as in the paper's
    Figure 5, is modified.

    Raises:
        FixProblem: it is no such JSON.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        try:
            data = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise FixProblem(f"the fix is not JSON: {error} ({_FORM})") from error
    if isinstance(data, dict):
        data = data.get("changes_dicts", [data])
    try:
        return tuple(edit for file in data for edit in _paper_edits(file))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise FixProblem(
            "each file needs file_path, and insertions, deletions or modifications "
            f"with line_number ({_FORM})"
        ) from error


def _paper_edits(file: dict[str, Any]) -> Iterator[LineEdit]:
    path, *_ = (str(file[key]) for key in _PATH if key in file)
    modified = {
        int(str(one["line_number"])): str(one["modified_line"])
        for one in file.get("modifications") or []
    }
    for one in file.get("deletions") or []:
        line = int(str(one["line_number"] if isinstance(one, dict) else one))
        if line not in modified:
            yield LineEdit(path=path, kind=EditKind.DELETE, first=line, last=line)
    for line, text in modified.items():
        new = _lines(text)
        yield LineEdit(path=path, kind=EditKind.REPLACE, first=line, last=line, lines=new)
    for one in file.get("insertions") or []:
        line = int(str(one["line_number"]))
        parts = one["new_lines"] if isinstance(one["new_lines"], list) else [one["new_lines"]]
        new = tuple(new for part in parts for new in _lines(str(part)))
        yield LineEdit(path=path, kind=EditKind.INSERT, first=line, last=line, lines=new)


def _lines(block: str) -> tuple[str, ...]:
    r"""Return the lines of a block; only its last newline is not a line.

    >>> _lines("a\n\n"), _lines("")
    (('a', ''), ('',))
    """
    return tuple(block.removesuffix("\n").replace("\r", "").split("\n"))
