"""The dynamic prompt (paper 004): eight sections made from what is known, the stable ones first.

Role, goals, guidelines and the form of each command's answer never change; the bug hardly does;
what was gathered only grows at its end. What changes from step to step (the state, the names of
the commands it has, the last command, the budget) comes last and is short, so that a model which
keeps what it evaluated has little to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_brt.dialogue.action import ActionSpec, describe
from pytest_brt.dialogue.history import Counter, cut
from pytest_brt.model.base import Message, Role
from pytest_brt.repair.account import told_runs
from pytest_brt.repair.known import CODE, Memory, Remembered, recall
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import State, ToolName, Without
from pytest_brt.repair.tools.looking import names_of, source_of, told_places
from pytest_brt.types import Step

#: What is left of the room after something had to go, as far as there is nothing but code left:
#: everything after a change is evaluated again, so changes are to be rare.
_AFTER = 0.7
#: Share of the room that the system's message may take before it is shortened.
_SYSTEM = 1 / 3
#: Tokens that the part which changes from step to step may have, about.
_TAIL = 600
#: Places of the bug that the model is told of at the beginning.
_PLACES = 4
#: Share of the room that the report may take.
_REPORT = 0.3
#: Fixes that are to be tried before the steps are used up (RepairAgent's budget control).
_FIXES = 4

_NOW = {
    State.UNDERSTAND: "Find out what is wrong and where. Then express a hypothesis.",
    State.COLLECT: "Read the code to change. Then write a fix, with the line numbers shown.",
    State.TRY: "Try another fix, or read more, or give the hypothesis up.",
    State.DONE: "",
}
_PASSES = (
    "A fix is kept. If it mends the cause for every input, call goal_accomplished. If not, write a "
    "better one, whole: the code that you read and change is without the fix."
)


@dataclass(kw_only=True, eq=False)
class DynamicPrompt:
    """Makes the messages of each step of one repair."""

    site: Site
    without: frozenset[Without]
    #: All commands; those of a state are among them.
    specs: Sequence[ActionSpec]
    #: Most tokens of a prompt.
    room: int
    #: Steps that there are in all.
    most: int
    count: Counter

    def messages(self, steps: Sequence[Step], offered: Sequence[ActionSpec]) -> tuple[Message, ...]:
        """Return the prompt after `steps`, in at most `room` tokens where that can be had."""
        system, bug = self._opening
        memory = recall(steps)
        parts = [bug, *self._shown(memory.entries), self._tail(memory, steps, offered)]
        return (system, Message(role=Role.USER, text="\n\n".join(parts)))

    @cached_property
    def _opening(self) -> tuple[Message, str]:
        """The sections that stay as they are for the whole repair."""
        site, count = self.site, self.count
        system = self._system(short=False)
        if count(system.text) > self.room * _SYSTEM:
            system = self._system(short=True)
        runs = tuple(j.judgement.runs[0] for j in site.failing if j.judgement.runs)
        report = cut(site.issue.text, max(64, int(self.room * _REPORT)), count)
        places = told_places(site.places()[:_PLACES], perfect=site.perfect)
        left = self.room * 2 // 3 - sum(map(count, (system.text, report, places)))
        tests = cut(told_runs(runs, names_of(site)) if runs else "", max(64, left), count)
        brt = source_of(site, site.failing[0]) if site.failing else ""
        brt = brt if count(brt) <= left - count(tests) else ""
        bug = site.prompts.render("repair/bug", report=report, places=places, tests=tests, brt=brt)
        return system, bug

    def _system(self, *, short: bool) -> Message:
        tools = describe(self.specs)
        return self.site.prompts.message(Role.SYSTEM, "repair/system", tools=tools, short=short)

    def _shown(self, entries: Sequence[Remembered]) -> list[str]:
        """Return the entries, in their order; of those that do not fit only the titles.

        More are left out with every step, never fewer.
        """
        if Without.MEMORY in self.without:
            return [entry.text for entry in entries[-1:]]
        system, bug = self._opening
        room = self.room - self.count(system.text) - self.count(bug) - _TAIL
        gone: frozenset[int] = frozenset()
        for number in range(1, len(entries) + 1):
            gone = self._fitting(entries[:number], gone, room)
        return [_left_out(entry) if entry.number in gone else entry.text for entry in entries]

    def _fitting(
        self, entries: Sequence[Remembered], gone: frozenset[int], room: int
    ) -> frozenset[int]:
        sizes = {
            entry.number: 2 + self.count(_left_out(entry) if entry.number in gone else entry.text)
            for entry in entries
        }
        if sum(sizes.values()) <= room:
            return gone
        order = sorted(entries[:-1], key=lambda entry: (entry.worth, entry.number))
        for entry in order:
            size = sum(sizes.values())
            if size <= room * _AFTER or (size <= room and entry.worth >= CODE):
                break
            if entry.number not in gone:
                gone |= {entry.number}
                sizes[entry.number] = 2 + self.count(_left_out(entry))
        return gone

    def _tail(self, memory: Memory, steps: Sequence[Step], offered: Sequence[ActionSpec]) -> str:
        past = [one for one in memory.hypotheses if one.discarded is not None]
        names = {spec.name for spec in offered}
        ends = bool(memory.plausible) and ToolName.ACCOMPLISHED in names
        machine = Without.STATES not in self.without
        now = _NOW[memory.state] if machine else ""
        return self.site.prompts.render(
            "repair/tail",
            machine=machine,
            state=memory.state,
            now=_PASSES if ends else now,
            discarded=[(one.text, one.discarded) for one in past[-3:]],
            hypothesis=memory.hypothesis,
            tools=", ".join(spec.name for spec in offered),
            others=", ".join(spec.name for spec in self.specs if spec.name not in names),
            last=_last(steps[-1], memory.entries[-1]) if steps else "",
            step=len(steps) + 1,
            steps=self.most,
            budget=_budget(memory, self.most - len(steps)),
        )


def _left_out(entry: Remembered) -> str:
    return f"### {entry.title}: left out here"


def _last(step: Step, entry: Remembered) -> str:
    """Return the last command; what the bug is held to be is told elsewhere."""
    if step.action in (ToolName.HYPOTHESIS, ToolName.DISCARD):
        return f"{step.number}. {step.action}"
    return entry.title


def _budget(memory: Memory, left: int) -> str:
    if memory.plausible:
        return ""
    wanted = max(0, _FIXES - memory.tried)
    if wanted and left <= 3 * wanted + 2:
        more = "more " if memory.tried else ""
        return f"Try {wanted} {more}fix{'es' if wanted > 1 else ''} before the steps are used up."
    return ""
