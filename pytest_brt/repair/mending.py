"""Puts right what models often get wrong in a fix: numbers before lines, and the indentation."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

from pytest_brt.errors import FixProblem
from pytest_brt.repair.fix import EditKind, Fix, LineEdit, Read, apply_fix, lines_of
from pytest_brt.syntax import PARSING
from pytest_brt.types import FileChange

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
