"""A fix as a model writes it: lines of files inserted, deleted and replaced, by their numbers.

The places stand in one line, the new lines in one block of code for each replace and insert::

    {"action": "write_fix", "changes": "pkg/a.py replace 10-12; pkg/a.py delete 20"}
    ```python
    new lines instead of 10 to 12
    ```
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from pytest_brt.agents.prompts import numbered
from pytest_brt.agents.workspace import Workspace
from pytest_brt.edit.source_text import read_source
from pytest_brt.errors import EditProblem
from pytest_brt.patches.apply import is_left_out
from pytest_brt.pysource.parse import parse, parses
from pytest_brt.types import FileChange

_FORM = "write the places as 'path replace 10-12; path insert 5; path delete 20-21'"
_EDIT = re.compile(
    r"(?:(?P<path>[^\s;:,]+)[\s:,]+)?(?P<kind>replace|insert|delete)(?:\s+lines?)?\s+"
    r"(?P<first>\d+)(?:\s*(?:-|–|to|\.\.)\s*(?P<last>\d+))?",
    re.IGNORECASE,
)
#: A line as listings show it, with its number.
_NUMBERED = re.compile(r"^\s*\d+\s?[|:│] ?")


class LineEdit(NamedTuple):
    """One change of one file; numbers are those of the file as it was shown."""

    path: str
    #: The first line that is replaced or deleted, or before which lines are inserted; 1-based.
    first: int
    #: The last line that is replaced or deleted, the one before `first` for an insertion.
    last: int
    #: New lines without line ends.
    lines: Sequence[str] = ()


def parse_fix(places: str, blocks: Sequence[str]) -> list[LineEdit]:
    """Return the edits of these places and blocks; their path is "" where it is not named.

    Raises:
        EditProblem: they are none; the text says what is missing.
    """
    matches = list(_EDIT.finditer(places))
    wanted = sum(match["kind"].lower() != "delete" for match in matches)
    if not matches or wanted != len(blocks):
        raise EditProblem(
            f"{len(matches)} places are named, of which {wanted} take a block of code, and there "
            f"are {len(blocks)} ({_FORM})"
        )
    edits = []
    left = iter(blocks)
    for match in matches:
        kind, first = match["kind"].lower(), int(match["first"])
        lines = [] if kind == "delete" else next(left).removesuffix("\n").split("\n")
        if all(_NUMBERED.match(line) for line in lines if line.strip()):
            lines = [_NUMBERED.sub("", line) for line in lines]
        last = first - 1 if kind == "insert" else int(match["last"] or first)
        edits.append(LineEdit(match["path"] or "", first, last, lines))
    return edits


def apply_fix(fix: Sequence[LineEdit], env: Workspace) -> tuple[FileChange, ...]:
    """Return what a fix makes of the files it names; encoding and line ends are kept.

    Raises:
        EditProblem: it cannot be applied, or a file that was Python would not be any more.
        Refused: one of its paths means no file.
    """
    edits: dict[str, list[LineEdit]] = {}
    for edit in fix:
        edits.setdefault(env.find(edit.path), []).append(edit)
    changes = []
    for path, own in edits.items():
        before = env.read(path)
        content = _edited(path, before, own)
        if is_left_out(path):
            raise EditProblem(f"{path!r} is a test or a setting: a fix changes the code")
        if content != before:
            changes.append(FileChange(path=path, content=content))
    if not changes:
        raise EditProblem("the fix leaves the code as it is (write lines that differ)")
    return tuple(changes)


def _edited(path: str, before: bytes, edits: Sequence[LineEdit]) -> bytes:
    """Return a file with the edits; raise EditProblem where that cannot be, or is not Python."""
    try:
        source = read_source(path, before)
        lines = source.text.split("\n")
        end, carriage = len(lines) + 1, "\r" if "\r\n" in source.text else ""
        # From the end on, so that the numbers of what comes before stay true.
        for edit in sorted(edits, key=lambda edit: (-edit.first, edit.first > edit.last)):
            if not 1 <= edit.first <= edit.last + 1 <= end:
                raise EditProblem(
                    f"{path!r} has {len(lines)} lines, and each is changed once: not "
                    f"{edit.first}-{edit.last} (read the lines first, and use their numbers)"
                )
            end = edit.first
            lines[edit.first - 1 : edit.last] = [one + carriage for one in edit.lines]
        text = "\n".join(lines)
        if path.endswith(".py") and parses(source.text):
            parse(text)
        return source.encode(text)
    except SyntaxError as error:
        line = error.lineno or 1
        raise EditProblem(
            f"syntax error in {path!r} with this fix, line {line}: {error.msg}\n"
            f"{numbered(lines, line - 2, line + 1)}\n(write it again, with the right indentation)"
        ) from error
