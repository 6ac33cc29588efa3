"""A fix as text: where to change what, and the new lines as fenced blocks; or the paper's JSON.

The form that models are asked for names the places in one line and has the code outside of JSON,
one block per place that gets new lines, in their order::

    {"thought": "…", "action": "write_fix", "changes": "pkg/a.py replace 10-12; pkg/a.py delete 20"}
    ```python
    new lines instead of 10 to 12
    ```

What models often get wrong is put right: numbers before lines, and the indentation.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_brt.errors import FixProblem
from pytest_brt.repair.fix import EditKind, Fix, LineEdit, Read, apply_fix, lines_of
from pytest_brt.syntax import PARSING
from pytest_brt.types import FileChange

_EDIT = re.compile(
    r"^(?:(?P<path>.+?)[\s:,]+)?(?P<kind>replace|insert|delete)(?:\s+lines?)?\s+"
    r"(?P<first>\d+)(?:\s*(?:-|–|to|\.\.)\s*(?P<last>\d+))?$",
    re.IGNORECASE,
)
_FORM = "write it as 'path replace 10-12; path insert 5; path delete 20-21'"
#: By what the paper's form is known.
_PAPER = ("line_number", '"deletions"', "file_path")
#: The keys of one file in the paper's form, and the shorter ones that models use.
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
    for text in re.split(r"[;\n]+", places):
        if not text.strip():
            continue
        match = _EDIT.match(text.strip())
        where = (match["path"] or path) if match else ""
        if match is None or not where:
            raise FixProblem(f"{text.strip()!r} names no place to change ({_FORM})")
        kind = EditKind(match["kind"].lower())
        first = int(match["first"])
        last = first if kind is EditKind.INSERT else int(match["last"] or first)
        lines: tuple[str, ...] = ()
        if kind is not EditKind.DELETE:
            if not left:
                raise FixProblem(
                    f"{text.strip()!r} has no block of code: one ```python block per replace and "
                    "insert, in their order"
                )
            lines = _lines(left.pop(0))
        found.append(_edit(where.strip(" '\"`"), kind, first, last, lines))
    if not found:
        raise FixProblem(f"'changes' names no place to change ({_FORM})")
    if left:
        raise FixProblem(
            f"{len(left)} more block{'s' if len(left) > 1 else ''} of code than replaces and "
            f"inserts in 'changes' ({_FORM})"
        )
    return Fix(edits=tuple(found))


def parse_paper_fix(text: str) -> Fix:
    """Return the fix that the paper's JSON tells (004, write_fix): a list with a file each.

    Raises:
        FixProblem: it is no such JSON.
    """
    data = _loaded(text)
    if isinstance(data, dict):
        data = data.get("changes_dicts", [data])
    edits: list[LineEdit] = []
    try:
        for file in data:
            path = next(str(file[key]) for key in _PATH if key in file)
            edits += _paper_edits(path, file)
    except (TypeError, KeyError, ValueError, AttributeError, StopIteration) as error:
        raise FixProblem(
            "each file needs file_path, and insertions, deletions or modifications "
            f"with line_number ({_FORM})"
        ) from error
    return Fix(edits=tuple(edits))


def _loaded(text: str) -> Any:  # whatever a model wrote
    """Return the value of `text`, JSON or Python's own notation of it."""
    try:
        return json.loads(text)
    except ValueError as error:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise FixProblem(f"the fix is not JSON: {error} ({_FORM})") from error


def _paper_edits(path: str, file: dict[str, object]) -> list[LineEdit]:
    found = []
    for item in _listed(file, "deletions"):
        number = int(str(item["line_number"] if isinstance(item, dict) else item))
        found.append(_edit(path, EditKind.DELETE, number, number, ()))
    for item in _listed(file, "modifications"):
        lines = _lines(str(item["modified_line"]))
        number = int(item["line_number"])
        found.append(_edit(path, EditKind.REPLACE, number, number, lines))
    for item in _listed(file, "insertions"):
        new = item["new_lines"]
        parts = new if isinstance(new, list) else [new]
        lines = tuple(line for part in parts for line in _lines(str(part)))
        number = int(item["line_number"])
        found.append(_edit(path, EditKind.INSERT, number, number, lines))
    return found


def _listed(file: dict[str, object], key: str) -> list[dict[str, int]]:
    value = file.get(key) or []
    if not isinstance(value, list):
        raise TypeError(key)
    return value


def _edit(path: str, kind: EditKind, first: int, last: int, lines: tuple[str, ...]) -> LineEdit:
    return LineEdit(path=path, kind=kind, first=first, last=last, lines=lines)


def _lines(block: str) -> tuple[str, ...]:
    r"""Return the lines of a block; only its last newline is not a line.

    >>> _lines("a\n\n"), _lines("")
    (('a', ''), ('',))
    """
    return tuple(block.removesuffix("\n").replace("\r", "").split("\n"))


#: A line as listings show it, with its number.
_NUMBERED = re.compile(r"^\s*\d+\s?[|:│] ?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """A fix that can be tried."""

    fix: Fix
    changes: tuple[FileChange, ...]
    #: What was put right, a few words each.
    notes: tuple[str, ...] = ()


def mend_fix(fix: Fix, read: Read, find: Callable[[str], str]) -> Mended:
    """Return `fix` so that it applies and still parses, as far as that can be had.

    Args:
        fix: as it was written.
        read: gives a file of the tree.
        find: the tree's path for one as a model wrote it; it raises FixProblem.

    Raises:
        FixProblem: it cannot be applied, or a file that was Python would not be any more.
    """
    notes: list[str] = []
    edits = []
    for edit in fix.edits:
        path = find(edit.path)
        if path != edit.path:
            notes.append(f"{edit.path!r} read as {path!r}")
        lines = _without_numbers(edit.lines)
        if lines != edit.lines:
            notes.append("line numbers taken off the code")
        edits.append(replace(edit, path=path, lines=lines))
    plain = Fix(edits=tuple(edits))
    changes = apply_fix(plain, read)
    problem = _syntax_problem(changes, read)
    if not problem:
        return Mended(fix=plain, changes=changes, notes=tuple(dict.fromkeys(notes)))
    moved = Fix(edits=tuple(_indented(edit, read) for edit in edits))
    if moved != plain:
        again = apply_fix(moved, read)
        if not _syntax_problem(again, read):
            notes.append("indentation put right")
            return Mended(fix=moved, changes=again, notes=tuple(dict.fromkeys(notes)))
    raise FixProblem(problem)


def _without_numbers(lines: tuple[str, ...]) -> tuple[str, ...]:
    full = [line for line in lines if line.strip()]
    if not full or not all(_NUMBERED.match(line) for line in full):
        return lines
    return tuple(_NUMBERED.sub("", line) for line in lines)


def _indented(edit: LineEdit, read: Read) -> LineEdit:
    """Return `edit` with its lines moved so that the first is indented as what it replaces."""
    content = read(edit.path)
    full = [line for line in edit.lines if line.strip()]
    if not full or content is None or edit.kind is EditKind.DELETE:
        return edit
    old = lines_of(content)[edit.first - 1 :]
    wanted = next((_indent(line) for line in old if line.strip()), "")
    least = min((_indent(line) for line in full), key=len)
    base = _indent(full[0]) if _indent(full[0]).startswith(least) else least
    moved = []
    for line in edit.lines:
        if not line.strip():
            moved.append(line)
        elif line.startswith(base):
            moved.append(wanted + line[len(base) :])
        else:  # further left than the first line: by as much
            shift = len(base) - len(_indent(line))
            moved.append(wanted[: max(0, len(wanted) - shift)] + line.lstrip())
    return replace(edit, lines=tuple(moved))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _syntax_problem(changes: tuple[FileChange, ...], read: Read) -> str:
    """Return why a file does not parse any more, "" when all do that did before."""
    for change in changes:
        if not change.path.endswith(".py") or change.content is None:
            continue
        error = _error_in(change.content)
        if error is None:
            continue
        before = read(change.path)
        # Other Python than ours stays as it is: the subject has the last word.
        if before is None or _error_in(before) is None:
            line = error.lineno or 1
            lines = lines_of(change.content)
            near = range(max(1, line - 2), min(len(lines), line + 1) + 1)
            shown = "\n".join(f"{number:5}| {lines[number - 1]}" for number in near)
            return (
                f"syntax error in {change.path!r} with this fix, line {line}: {error.msg}\n"
                f"{shown}\n(write it again, with the right indentation)"
            )
    return ""


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
