"""The edit of a file by a model that is told in words what to change (paper 001, `edit`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pytest_brt.code.facts import DefinitionKind, read_facts
from pytest_brt.dialogue.action import ActionSpec, Parameter, grammar_of
from pytest_brt.dialogue.parse import Refused, read_action
from pytest_brt.errors import FixProblem
from pytest_brt.model.base import Message, Model, Prompt, Sampling
from pytest_brt.model.metered import cost_of
from pytest_brt.repair.fix import lines_of
from pytest_brt.repair.form import Mended, mend_fix, parse_fix
from pytest_brt.repair.site import Site
from pytest_brt.repair.window import shown_lines
from pytest_brt.types import Cost

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What an edit made of a file."""

    mended: Mended
    cost: Cost


class NotEdited(FixProblem):
    """The model's answer cannot be applied; it was paid for all the same."""

    def __init__(self, text: str, cost: Cost) -> None:
        super().__init__(text)
        self.cost = cost


def edit_file(
    site: Site,
    model: Model,
    path: str,
    task: str,
    *,
    read: Callable[[str], bytes | None],
    seed: int,
    seconds: float = 0.0,
) -> Edited:
    """Let `model` change `path` as `task` says.

    Args:
        site: the bug.
        model: the one that writes code; it may be the one that reasons.
        path: a file of the project.
        task: what to change, in words.
        read: gives files as they are now.
        seed: of the answer.
        seconds: wall-clock time for the model; 0 sets no limit.

    Raises:
        NotEdited: the answer cannot be applied; the text says why.
        ModelProblem: the model cannot be reached.
    """
    content = read(path)
    if content is None:
        raise NotEdited(f"there is no file {path!r}", Cost())
    prompt = Prompt(
        messages=_messages(site, model, path, task, lines_of(content)),
        sampling=Sampling(
            temperature=0.2, top_p=0.95, seed=seed, max_tokens=min(_TOKENS, model.context // 4)
        ),
        grammar=grammar_of((SPEC,)),
        seconds=seconds,
        purpose="edit",
    )
    (completion,) = model.complete(prompt)
    cost = cost_of([completion])
    action = read_action(completion.text, {SPEC.name: SPEC}, paths=site.paths)
    if isinstance(action, Refused):
        raise NotEdited(f"the edit could not be read: {action.text}", cost)
    try:
        fix = parse_fix(_with_path(action["changes"], path), action.blocks)
        return Edited(mended=mend_fix(fix, read, lambda _: path), cost=cost)
    except FixProblem as problem:
        raise NotEdited(str(problem), cost) from problem


def _with_path(changes: str, path: str) -> str:
    """Return places with the file in front of each that names none."""
    if changes.lstrip().startswith(("[", "{")):
        return changes
    parts = [part.strip() for part in re.split(r"[;\n]+", changes) if part.strip()]
    bare = re.compile(r"^(replace|insert|delete)\b", re.IGNORECASE)
    return "; ".join(f"{path} {part}" if bare.match(part) else part for part in parts)


def _messages(
    site: Site, model: Model, path: str, task: str, lines: tuple[str, ...]
) -> tuple[Message, ...]:
    """Return the question, with as much of the file as fits around what the task names."""
    room = model.context - min(_TOKENS, model.context // 4) - 64
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
        if sum(model.count([message.text for message in messages])) <= room:
            return messages
        if len(report) > 4000:
            report = report[:4000] + "\n[… the rest is left out …]"
    return messages


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
