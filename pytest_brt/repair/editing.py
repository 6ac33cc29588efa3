"""The edit of a file by a model that is told in words what to change (paper 001, `edit`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_brt.code.facts import DefinitionKind, read_facts
from pytest_brt.dialogue.action import ActionSpec, Parameter, grammar_of
from pytest_brt.dialogue.parse import Refused, read_action
from pytest_brt.dialogue.paths import Paths
from pytest_brt.errors import FixProblem
from pytest_brt.model.base import Model, Prompt, Sampling
from pytest_brt.repair.fix import Read
from pytest_brt.repair.form import Mended, mend_fix, parse_fix
from pytest_brt.repair.site import Site
from pytest_brt.repair.window import shown_lines

#: Longest answer, in tokens.
_TOKENS = 900
#: Lines that are shown around a place that was named.
_AROUND = 30
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
    report = site.issue.text
    for wanted in _windows(path, task, lines, site):
        messages = site.prompts.ask(
            "repair/edit",
            report=report,
            path=path,
            code=shown_lines(lines, wanted),
            task=task,
            form=SPEC.example(),
        )
        if sum(model.count([message.text for message in messages])) <= model.context - longest - 64:
            break
        if len(report) > 4000:
            report = report[:4000] + "\n[… the rest is left out …]"
    return Prompt(
        messages=messages,
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


def _windows(path: str, task: str, lines: tuple[str, ...], site: Site) -> Iterator[frozenset[int]]:
    """Yield sets of lines to show, smaller and smaller: all, what the task names, less of it."""
    yield frozenset(range(1, len(lines) + 1))
    named = {int(number) for number in re.findall(r"\b\d{1,5}\b", task)}
    spans = [(n - _AROUND, n + _AROUND) for n in named if n <= len(lines)]
    words = set(re.findall(r"[A-Za-z_]\w*", task))
    for definition in read_facts("\n".join(lines)).definitions:
        if definition.name in words and definition.kind is not DefinitionKind.CLASS:
            spans.append((definition.line, definition.end_line))
    if not spans:
        spans = [
            (place.line, place.end_line or place.line + 2 * _AROUND)
            for place in site.places()
            if place.path == path
        ][:3]
    for longest in (10_000, 160, 60, 25):
        shown: set[int] = set(range(1, min(_TOP, longest) + 1))
        for first, last in spans:
            shown.update(range(max(1, first), min(last, first + longest, len(lines)) + 1))
        yield frozenset(number for number in shown if number <= len(lines))
