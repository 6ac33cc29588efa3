"""A fix as a model writes it: lines of files inserted, deleted and replaced, by their numbers.

The places stand in one line, the new lines in one block of code for each replace and insert::

    {"action": "write_fix", "changes": "pkg/a.py replace 10-12; pkg/a.py delete 20"}
    ```python
    new lines instead of 10 to 12
    ```

The JSON of the paper on RepairAgent is read too.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_brt.agents.reply import first_object
from pytest_brt.agents.shown import numbered
from pytest_brt.agents.workspace import Workspace
from pytest_brt.edit.source_text import read_source
from pytest_brt.errors import EditProblem, FixProblem
from pytest_brt.patches.left_out import left_out_kind
from pytest_brt.pysource.parse import PARSING
from pytest_brt.render.remarks import left_out_words
from pytest_brt.types import FileChange

_FORM = "write the places as 'path replace 10-12; path insert 5; path delete 20-21'"
_EDIT = re.compile(
    r"(?:(?P<path>.+?)[\s:,]+)?(?P<kind>replace|insert|delete)(?:\s+lines?)?\s+"
    r"(?P<first>\d+)(?:\s*(?:-|–|to|\.\.)\s*(?P<last>\d+))?",
    re.IGNORECASE,
)
#: A line as listings show it, with its number.
_NUMBERED = re.compile(r"^\s*\d+\s?[|:│] ?")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEdit:
    """One change of one file; numbers are those of the file as it was shown."""

    path: str
    #: "replace", "insert" (before `first`) or "delete".
    kind: str
    #: 1-based; the last line that is replaced or deleted, the one before `first` for an insertion.
    first: int
    last: int
    #: New lines without line ends.
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it as a model writes it."""
        return "\n".join([f"{self.path} {self.kind} {self.first}-{self.last}", *self.lines])


#: Changes that belong together.
Fix = tuple[LineEdit, ...]


def parse_fix(places: str, blocks: Sequence[str], path: str = "") -> Fix:
    """Return the fix of these places and blocks; `path` is the file of places that name none.

    Raises:
        FixProblem: they are none; the text says what is missing.
    """
    for text in (places, *blocks[:1]):
        if "line_number" in text:
            return _paper_fix(text)
    found: list[LineEdit] = []
    left = list(blocks)
    for text in filter(None, map(str.strip, re.split(r"[;\n]+", places))):
        match = _EDIT.fullmatch(text)
        where = ((match["path"] or path) if match else "").strip(" '\"`")
        if match is None or not where:
            raise FixProblem(f"{text!r} names no place to change ({_FORM})")
        kind, first = match["kind"].lower(), int(match["first"])
        if kind != "delete" and not left:
            raise FixProblem(f"{text!r} has no block of code (one for each replace and insert)")
        new = () if kind == "delete" else _lines(left.pop(0))
        last = first - 1 if kind == "insert" else int(match["last"] or first)
        found.append(LineEdit(path=where, kind=kind, first=first, last=last, lines=new))
    if not found or left:
        raise FixProblem(f"there are {len(left)} more blocks of code than places ({_FORM})")
    return tuple(found)


def _lines(block: str) -> tuple[str, ...]:
    """Return the lines of a block, without the numbers that listings put before them."""
    lines = tuple(block.removesuffix("\n").replace("\r", "").split("\n"))
    if all(_NUMBERED.match(line) for line in lines if line.strip()):
        return tuple(_NUMBERED.sub("", line) for line in lines)
    return lines


def _paper_fix(text: str) -> Fix:
    """Return the fix that the paper's JSON tells (004, write_fix)."""
    data = first_object(text) or {}
    try:
        return tuple(edit for file in data.get("changes_dicts", [data]) for edit in _edits(file))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise FixProblem(
            "each file needs file_path, and insertions, deletions or modifications with "
            f"line_number ({_FORM})"
        ) from error


def _edits(file: Mapping[str, Any]) -> Iterator[LineEdit]:
    path = str(file["file_path"])
    modified = {int(one["line_number"]): one for one in file.get("modifications") or ()}
    for line, one in modified.items():
        new = _lines(str(one["modified_line"]))
        yield LineEdit(path=path, kind="replace", first=line, last=line, lines=new)
    for line in map(int, file.get("deletions") or ()):
        if line not in modified:  # as in Figure 5 of the paper, where it stands in both
            yield LineEdit(path=path, kind="delete", first=line, last=line)
    for one in file.get("insertions") or ():
        line, new = int(one["line_number"]), _lines("\n".join(one["new_lines"]))
        yield LineEdit(path=path, kind="insert", first=line, last=line - 1, lines=new)


def apply_fix(fix: Fix, env: Workspace) -> tuple[FileChange, ...]:
    """Return what a fix makes of the files it names; encoding and line ends are kept.

    Raises:
        FixProblem: it cannot be applied, or a file that was Python would not be any more.
        Refused: one of its paths means no file.
    """
    by_path: dict[str, list[LineEdit]] = {}
    for edit in fix:
        by_path.setdefault(env.find(edit.path), []).append(edit)
    changes = []
    for path, edits in by_path.items():
        before = env.read(path)
        content = _edited(path, before, edits)
        kind = left_out_kind(path, before, content)
        if kind is not None:
            raise FixProblem(f"{path!r} is {left_out_words(kind)}: a fix changes the code")
        if path.endswith(".py"):
            _check(path, before, content)
        if content != before:
            changes.append(FileChange(path=path, content=content))
    if not changes:
        raise FixProblem("the fix leaves the code as it is (write lines that differ)")
    return tuple(changes)


def _edited(path: str, before: bytes, edits: Sequence[LineEdit]) -> bytes:
    try:
        source = read_source(path, before)
        lines = source.text.split("\n")
        taken: set[int] = set()
        # From the end on, so that the numbers of what comes before stay true.
        for edit in sorted(edits, key=lambda edit: (-edit.first, edit.kind == "insert")):
            span = set(range(edit.first, edit.last + 1))
            if span & taken or not 1 <= edit.first <= len(lines) or edit.last > len(lines):
                raise FixProblem(
                    f"{path!r} has {len(lines)} lines, and each is changed once: not "
                    f"{edit.first}-{edit.last} (read the lines first, and use their numbers)"
                )
            taken |= span
            lines[edit.first - 1 : edit.last] = [one + source.newline[:-1] for one in edit.lines]
        return source.encode("\n".join(lines))
    except EditProblem as problem:
        raise FixProblem(str(problem)) from problem


def _check(path: str, before: bytes, content: bytes) -> None:
    """Raise FixProblem where a file was Python and is none any more."""
    error = _error_in(content)
    if error is not None and _error_in(before) is None:
        line = error.lineno or 1
        shown = numbered(content.decode("utf-8", "replace").split("\n"), line - 2, line + 1)
        raise FixProblem(
            f"syntax error in {path!r} with this fix, line {line}: {error.msg}\n{shown}\n(write it "
            "again, with the right indentation)"
        )


def _error_in(content: bytes) -> SyntaxError | None:
    """Return why it is no Python; compiled, for `ast` takes a return outside of a function."""
    with PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(content, "fix", "exec", dont_inherit=True)
        except SyntaxError as error:
            return error
        except (ValueError, RecursionError, MemoryError) as error:
            return SyntaxError(str(error))
    return None
