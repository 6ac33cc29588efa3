"""Corrects what models often get wrong in a fix: paths, numbers before lines, the indentation."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace

from pytest_brt.agent.excerpt import numbered
from pytest_brt.agent.tree import Tree, text_lines
from pytest_brt.errors import FixProblem
from pytest_brt.repair.fix import Fix, LineEdit, Read, apply_fix
from pytest_brt.syntax.parse import PARSING
from pytest_brt.types import FileChange

#: A line as listings show it, with its number.
_NUMBERED = re.compile(r"^\s*\d+\s?[|:│] ?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A fix that can be tried."""

    fix: Fix
    changes: tuple[FileChange, ...]
    #: What was corrected, a few words each.
    notes: tuple[str, ...] = ()


def correct_fix(fix: Fix, tree: Tree) -> Corrected:
    """Return `fix` so that it applies to `tree` and still parses, as far as that can be had.

    Raises:
        FixProblem: it cannot be applied, or a file that was Python would not be any more.
        Refusal: one of its paths means no file.
    """
    notes: list[str] = []
    edits = []
    for edit in fix:
        path = tree.find(edit.path)
        if path != edit.path:
            notes.append(f"{edit.path!r} read as {path!r}")
        lines = _without_numbers(edit.lines)
        if lines != edit.lines:
            notes.append("line numbers taken off the code")
        edits.append(replace(edit, path=path, lines=lines))
    plain = tuple(edits)
    notes = list(dict.fromkeys(notes))
    changes = apply_fix(plain, tree.read)
    problem = _syntax_problem(changes, tree.read)
    if not problem:
        return Corrected(fix=plain, changes=changes, notes=tuple(notes))
    moved = tuple(_indented(edit, tree.read) for edit in plain)
    if moved != plain:
        changes = apply_fix(moved, tree.read)
        if not _syntax_problem(changes, tree.read):
            return Corrected(fix=moved, changes=changes, notes=(*notes, "indentation corrected"))
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
    if not full or content is None:
        return edit
    old = text_lines(content)[edit.first - 1 :]
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
        error = _error_in(change.content or b"") if change.path.endswith(".py") else None
        if error is None:
            continue
        before = read(change.path)
        # Other Python than ours stays as it is: the subject has the last word.
        if before is None or _error_in(before) is None:
            line = error.lineno or 1
            lines = text_lines(change.content or b"")
            shown = numbered(lines, max(1, line - 2), line + 1)
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
