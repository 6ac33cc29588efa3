"""The edit of a file by a model that is told in words what to change (paper 001, `edit`).

What models often get wrong in a fix is put right: numbers before lines, and the indentation.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

from pytest_brt.agent.action import ActionSpec, Parameter, grammar_of
from pytest_brt.agent.history import cut, largest
from pytest_brt.agent.parse import Refused, read_action
from pytest_brt.agent.paths import Paths
from pytest_brt.code.file_facts import DefinitionKind, read_facts
from pytest_brt.errors import FixProblem
from pytest_brt.model.base import Message, Model, Prompt, Sampling
from pytest_brt.repair.fix import Fix, LineEdit, Read, apply_fix, lines_of, parse_fix
from pytest_brt.repair.site import Site, shown_lines
from pytest_brt.syntax.parse import PARSING
from pytest_brt.types import FileChange

#: Longest answer, in tokens.
_TOKENS = 900
#: Lines that are shown below a place that was named, at least and at most, of a file that is too
#: long; above it a third of that.
_FEW, _MANY = 10, 160
#: Lines of the beginning that are always shown: imports.
_TOP = 20

SPEC = ActionSpec(
    name="change",
    about="Change lines of the file.",
    parameters=(Parameter(name="changes", about="replace 10-12; insert 5; delete 7", most=300),),
    most_blocks=6,
    lines=150,
)


def edit_prompt(
    site: Site, model: Model, path: str, task: str, lines: tuple[str, ...], *, seed: int
) -> Prompt:
    """Return what asks `model` to change the file `path` as `task` says.

    As much of the file is shown as fits around what the task names.
    """
    longest = min(_TOKENS, model.context // 4)
    report = cut(site.issue.text, model.context // 4, model.count)
    places = _named(path, task, lines, site)

    def messages(around: int) -> tuple[Message, ...]:
        shown = {*range(1, min(_TOP, around) + 1)}
        for place in places:
            shown.update(range(place - around // 3, place + around + 1))
        return site.prompts.ask(
            "repair/edit",
            report=report,
            path=path,
            code=shown_lines(lines, shown.intersection(range(1, len(lines) + 1))),
            task=task,
            form=SPEC.example(),
        )

    def fits(around: int) -> bool:
        size = sum(model.count(message.text) for message in messages(around))
        return size <= model.context - longest - 64

    whole = 3 * len(lines)
    return Prompt(
        messages=messages(whole if fits(whole) else largest(_FEW, _MANY, fits)),
        sampling=Sampling(temperature=0.2, top_p=0.95, seed=seed, max_tokens=longest),
        grammar=grammar_of((SPEC,)),
        purpose="edit",
    )


def read_edit(answer: str, path: str, read: Read, paths: Paths) -> Mended:
    """Return what a model's answer makes of the file `path`.

    Raises:
        FixProblem: it cannot be applied; the text says why.
    """
    action = read_action(answer, {SPEC.name: SPEC}, paths=paths)
    if isinstance(action, Refused):
        raise FixProblem(f"the edit could not be read: {action.text}")
    return mend_fix(parse_fix(action["changes"], action.blocks, path), read, lambda _: path)


def _named(path: str, task: str, lines: tuple[str, ...], site: Site) -> set[int]:
    """Return the lines that a task names, by number or function; else those of likely places."""
    found = {int(number) for number in re.findall(r"\b\d{1,5}\b", task)}
    words = set(re.findall(r"[A-Za-z_]\w*", task))
    for definition in read_facts("\n".join(lines)).definitions:
        if definition.name in words and definition.kind is not DefinitionKind.CLASS:
            found.add(definition.line)
    likely = (place.line for place in site.places() if place.path == path)
    return {n for n in found if n <= len(lines)} or {*islice(likely, 3)} or {1}


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

    `find` gives the tree's path for one as a model wrote it, or raises FixProblem.

    Raises:
        FixProblem: it cannot be applied, or a file that was Python would not be any more.
    """
    notes: list[str] = []
    edits = []
    for edit in fix:
        path = find(edit.path)
        if path != edit.path:
            notes.append(f"{edit.path!r} read as {path!r}")
        lines = _without_numbers(edit.lines)
        if lines != edit.lines:
            notes.append("line numbers taken off the code")
        edits.append(replace(edit, path=path, lines=lines))
    plain = tuple(edits)
    notes = list(dict.fromkeys(notes))
    changes = apply_fix(plain, read)
    problem = _syntax_problem(changes, read)
    if not problem:
        return Mended(fix=plain, changes=changes, notes=tuple(notes))
    moved = tuple(_indented(edit, read) for edit in plain)
    if moved != plain:
        changes = apply_fix(moved, read)
        if not _syntax_problem(changes, read):
            return Mended(fix=moved, changes=changes, notes=(*notes, "indentation put right"))
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
        error = _error_in(change.content or b"") if change.path.endswith(".py") else None
        if error is None:
            continue
        before = read(change.path)
        # Other Python than ours stays as it is: the subject has the last word.
        if before is None or _error_in(before) is None:
            line = error.lineno or 1
            lines = lines_of(change.content or b"")
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
