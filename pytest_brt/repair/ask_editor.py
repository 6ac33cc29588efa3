"""Has a file edited by a model that is told in words what to change (paper 001, `edit`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pytest_brt.agent.action import Action, Argument, Form, Outcome, grammar_of
from pytest_brt.agent.excerpt import changed_lines, largest, picked_lines
from pytest_brt.agent.loop import Turn
from pytest_brt.agent.reply import Unread, read_reply
from pytest_brt.agent.report_text import fitting_report
from pytest_brt.agent.tree import text_lines
from pytest_brt.code.file_facts import DefinitionKind, read_facts
from pytest_brt.errors import FixProblem
from pytest_brt.model.base import Message, Model, Prompt
from pytest_brt.repair.bug import Bug
from pytest_brt.repair.correct import Corrected, correct_fix
from pytest_brt.repair.fix import parse_fix
from pytest_brt.types import FileChange

#: Longest answer, in tokens.
_TOKENS = 900
#: Lines that are shown below a place that was named, at least and at most, of a file that is too
#: long; above it a third of that.
_FEW, _MANY = 10, 160
#: Lines of the beginning that are always shown: imports.
_TOP = 20

CHANGE = Action(
    name="change",
    about="Change lines of the file.",
    run=lambda: Outcome(observation=""),
    form=Form(
        arguments=(
            Argument(name="changes", about="replace 10-12; insert 5; delete 7", longest=300),
        ),
        blocks=6,
        lines=150,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A file that was edited."""

    path: str
    before: tuple[str, ...]
    corrected: Corrected

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The file as it is now."""
        return self.corrected.changes

    def tell(self, run_next: Sequence[str]) -> str:
        """Return what a model is told: the new lines, and the test files to run."""
        lines = text_lines(self.changes[0].content or b"")
        spans = ", ".join(edit.span for edit in self.corrected.fix)
        word = "line" if spans.isdigit() else "lines"
        shown = picked_lines(lines, changed_lines(self.before, lines))
        tests = f"Run the tests: {', then '.join(run_next)}." if run_next else "Run the tests."
        return f"Edited {self.path}, {word} {spans}. Now:\n{shown}\n{tests}"


def ask_for_edit(bug: Bug, turn: Turn, path: str, task: str) -> Edited:
    """Have the file `path` changed as `task` says.

    Raises:
        FixProblem: the answer cannot be read or applied.
        Refusal: there is no such file.
        ModelProblem: the model cannot be asked.
    """
    lines = turn.tree.lines(path)
    prompt = edit_prompt(bug, turn, path, task, lines)
    (answer,) = turn.session.editor.complete(prompt)
    actions = {CHANGE.name: CHANGE}
    read = read_reply(answer.text, actions, paths=turn.tree.paths, cut=answer.is_cut)
    if isinstance(read, Unread):
        raise FixProblem(f"the edit could not be read: {read.why}")
    fix = parse_fix(dict(read.call.arguments)["changes"], read.call.code, path)
    here = tuple(replace(edit, path=path) for edit in fix)
    return Edited(path=path, before=lines, corrected=correct_fix(here, turn.tree))


def edit_prompt(bug: Bug, turn: Turn, path: str, task: str, lines: tuple[str, ...]) -> Prompt:
    """Return what asks the editor to change the file `path` as `task` says.

    As much of the file is shown as fits around what the task names.
    """
    model: Model = turn.session.editor
    longest = min(_TOKENS, model.context // 4)
    report = fitting_report(bug.issue, model.context // 4, model.count)
    places = _named(bug, path, task, lines)

    def messages(around: int) -> tuple[Message, ...]:
        shown = {*range(1, min(_TOP, around) + 1)}
        for place in places:
            shown.update(range(place - around // 3, place + around + 1))
        return bug.prompts.ask(
            "repair/edit",
            report=report,
            path=path,
            code=picked_lines(lines, shown.intersection(range(1, len(lines) + 1))),
            task=task,
            form=CHANGE.example(),
        )

    def fits(around: int) -> bool:
        size = sum(model.count(message.text) for message in messages(around))
        return size <= model.context - longest - 64

    whole = 3 * len(lines)
    sampling = replace(turn.session.sampling, seed=turn.seed, max_tokens=longest)
    return Prompt(
        messages=messages(whole if fits(whole) else largest(_FEW, _MANY, fits)),
        sampling=sampling,
        grammar=grammar_of({CHANGE.name: CHANGE}),
        seconds=turn.session.seconds(),
        purpose="edit",
    )


def _named(bug: Bug, path: str, task: str, lines: Sequence[str]) -> set[int]:
    """Return the lines that a task names, by number or function; else those of likely places."""
    found = {int(number) for number in re.findall(r"\b\d{1,5}\b", task)}
    words = set(re.findall(r"[A-Za-z_]\w*", task))
    for definition in read_facts("\n".join(lines)).definitions:
        if definition.name in words and definition.kind is not DefinitionKind.CLASS:
            found.add(definition.line)
    likely = (place.line for place in bug.places() if place.path == path)
    return {n for n in found if n <= len(lines)} or {*islice(likely, 3)} or {1}
