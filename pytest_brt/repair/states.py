"""The states of a repair, the tools that each has, and what is known after some steps.

The names are those of RepairAgent's paper (004, its state machine). The order in which the tools
of a state are used is the model's own. The state, the hypotheses, what was gathered and tried are
read off the steps each time, so that a repair that was interrupted knows again what it knew.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.model.reply import fenced_blocks
from pytest_brt.types import FixSource, Step


class State(StrEnum):
    """What a repair is at."""

    UNDERSTAND = "understand"
    COLLECT = "collect"
    TRY = "try"
    DONE = "done"


class ToolName(StrEnum):
    """What a model can do."""

    READ_RANGE = "read_range"
    CLASSES_AND_METHODS = "get_classes_and_methods"
    EXTRACT_METHOD = "extract_method"
    EXTRACT_TESTS = "extract_tests"
    SEARCH = "search_code_base"
    SIMILAR_CALLS = "find_similar_api_calls"
    METHOD_BODY = "generate_method_body"
    RUN_TESTS = "run_tests"
    LOCALIZE = "run_fault_localization"
    WRITE_FIX = "write_fix"
    HYPOTHESIS = "express_hypothesis"
    DISCARD = "discard_hypothesis"
    COLLECT_MORE = "collect_more_information"
    ACCOMPLISHED = "goal_accomplished"


class Without(StrEnum):
    """A part that can be switched off, to see what it is worth (paper 004, ablations)."""

    SEARCH = "search"
    STATES = "states"
    MEMORY = "memory"
    #: The given place of the bug is not used: it is found like any other.
    PLACE = "place"


#: Tools that only look.
_READ = (
    ToolName.READ_RANGE,
    ToolName.CLASSES_AND_METHODS,
    ToolName.EXTRACT_METHOD,
    ToolName.EXTRACT_TESTS,
)

#: State → the tools it has → the state after each. What is not in here is refused.
TABLE: Mapping[State, Mapping[ToolName, State]] = {
    State.UNDERSTAND: {
        **dict.fromkeys((*_READ, ToolName.RUN_TESTS, ToolName.LOCALIZE), State.UNDERSTAND),
        ToolName.HYPOTHESIS: State.COLLECT,
    },
    State.COLLECT: {
        **dict.fromkeys(
            (*_READ, ToolName.SEARCH, ToolName.SIMILAR_CALLS, ToolName.METHOD_BODY), State.COLLECT
        ),
        ToolName.WRITE_FIX: State.TRY,
        ToolName.DISCARD: State.UNDERSTAND,
    },
    State.TRY: {
        **dict.fromkeys((ToolName.WRITE_FIX, ToolName.READ_RANGE), State.TRY),
        ToolName.COLLECT_MORE: State.COLLECT,
        ToolName.DISCARD: State.UNDERSTAND,
        ToolName.ACCOMPLISHED: State.DONE,
    },
    State.DONE: {},
}

#: Fact of a step: the diff of a fix that was found plausible; there may be several.
PATCH = "patch"
#: Fact of a step: the diff of one that passes the failing tests and breaks existing ones.
DISPUTED = "disputed"
#: Fact of a step: who wrote its fixes (`FixSource`), in the patches' order.
SOURCE = "source"
#: How much an entry is worth to later steps, where it is not 1, what tells where to look; the
#: least goes first when there is no room.
_WORTH: dict[str, int] = {
    "": 0,
    ToolName.READ_RANGE: 2,
    ToolName.EXTRACT_TESTS: 2,
    ToolName.EXTRACT_METHOD: 3,
    ToolName.METHOD_BODY: 3,
    ToolName.WRITE_FIX: 4,
    ToolName.HYPOTHESIS: 5,
    ToolName.DISCARD: 5,
}
#: What code is worth that was read.
CODE = 2
#: What a fix that is kept is worth: a better one is written from it.
_KEPT = 6
#: Lines of a fix that later steps are shown, and how many more are not worth a cut.
_LINES, _FEW = 24, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What the bug was held to be."""

    text: str
    #: Why it was given up; None while it stands.
    discarded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A piece of what was gathered: one step, as later prompts show it."""

    number: int
    #: As in "3. read_range pkg/a.py 10 40".
    title: str
    text: str
    worth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """All that is known after some steps."""

    state: State
    #: The oldest first; at most the last one stands.
    hypotheses: tuple[Hypothesis, ...]
    entries: tuple[Remembered, ...]
    #: Fixes that were tried, and those among them that are plausible.
    tried: int
    plausible: int

    @property
    def hypothesis(self) -> str:
        """What the bug is held to be now, "" where nothing stands."""
        last = self.hypotheses[-1] if self.hypotheses else None
        return last.text if last and last.discarded is None else ""


def recall(steps: Sequence[Step]) -> Memory:
    """Return what is known after `steps`."""
    hypotheses: list[Hypothesis] = []
    for step in _done(steps):
        if step.action == ToolName.HYPOTHESIS:
            hypotheses.append(Hypothesis(text=step.argument("hypothesis")))
        elif step.action == ToolName.DISCARD and hypotheses:
            last = hypotheses[-1].text
            hypotheses[-1] = Hypothesis(text=last, discarded=step.argument("reason"))
    return Memory(
        state=state_after(steps),
        hypotheses=tuple(hypotheses),
        entries=tuple(entry_of(step) for step in steps),
        tried=sum(step.action == ToolName.WRITE_FIX for step in _done(steps)),
        plausible=sum(name == PATCH for step in steps for name, _ in step.facts),
    )


def state_after(steps: Sequence[Step]) -> State:
    """Return the state that `steps` lead to; what was refused moves nothing.

    Without a state machine, the tool decides alone.
    """
    state = State.UNDERSTAND
    for step in _done(steps):
        tool = ToolName(step.action)
        state = next(row[tool] for row in (TABLE[state], *TABLE.values()) if tool in row)
    return state


def entry_of(step: Step) -> Remembered:
    """Return a step as later prompts show it; always the same text for the same step."""
    asked = " ".join([step.action or "no tool", *(value for _, value in step.arguments if value)])
    title = f"{step.number}. {textwrap.shorten(asked, 200, placeholder=' …')}"
    parts = [f"### {title}"]
    if step.thought:
        parts.append(f"You thought: {' '.join(step.thought.split())[:300]}")
    if step.action == ToolName.WRITE_FIX:
        parts += _code_of(step)
    parts.append(step.observation)
    worth = 0 if step.problem and step.action != ToolName.WRITE_FIX else _WORTH.get(step.action, 1)
    if any(name == PATCH for name, _ in step.facts):
        worth = _KEPT
    return Remembered(number=step.number, title=title, text="\n".join(parts), worth=worth)


def patches_in(steps: Sequence[Step]) -> Iterator[tuple[str, FixSource, Step]]:
    """Yield the fixes that `steps` kept, disputed ones too: diff, source, step."""
    for step in steps:
        diffs = [value for name, value in step.facts if name in (PATCH, DISPUTED)]
        sources = [value for name, value in step.facts if name == SOURCE]
        for diff, source in zip(diffs, sources, strict=True):
            yield diff, FixSource(source), step


def _done(steps: Sequence[Step]) -> Iterator[Step]:
    known = set(ToolName)
    return (step for step in steps if step.action in known and not step.problem)


def _code_of(step: Step) -> list[str]:
    blocks, _ = fenced_blocks(step.reply)
    lines = [line for block in blocks for line in block.splitlines()]
    if not lines:
        return []
    if len(lines) <= _LINES + _FEW:
        return ["Its new lines:", *lines]
    return ["Its new lines:", *lines[:_LINES], f"[… {len(lines) - _LINES} more lines …]"]
