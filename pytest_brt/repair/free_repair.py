"""The repair agent of `auto`, which follows no paper: one state, and it ends when a fix stands.

It is shown the report folded, how the bug tests fail, and the code of the likeliest places, so that
it can write a fix at once; the tests run as soon as one is written. Of a fix that fails several
other versions are asked for in one question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated as A

from pytest_brt.agent.action import (
    NO_FILE,
    File,
    Outcome,
    Place,
    action,
    actions_of,
    describe,
)
from pytest_brt.agent.blocks import fenced_blocks
from pytest_brt.agent.definitions import list_calls
from pytest_brt.agent.excerpt import Room, cut, numbered
from pytest_brt.agent.lines import show_file, show_lines
from pytest_brt.agent.loop import Turn, run_agent
from pytest_brt.agent.memory import Counter, conversation
from pytest_brt.agent.report_text import report_text
from pytest_brt.agent.running import tell_runs
from pytest_brt.agent.search import search_code
from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Message, Prompt, Sampling
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.bug import tell_places
from pytest_brt.repair.fix import EditKind
from pytest_brt.repair.result import repair_of
from pytest_brt.repair.run_tests import FAILING, Which, tests_outcome
from pytest_brt.repair.trial import Trial, first_runs
from pytest_brt.repair.write_fix import (
    ABOUT,
    BLOCKS,
    LINES,
    Changes,
    Tried,
    fix_outcome,
    tell_trial,
    try_fix,
    try_others,
)
from pytest_brt.types import Finished, FixTried, Repair, Step

#: Steps of one run, and tokens of a reply and of an observation where there is room.
STEPS, _REPLY, _OBSERVATION = 25, 900, 4_000
#: Places that are told, and those whose code is shown; shares of the room for that code and for
#: the whole opening.
_PLACES, _SHOWN, _CODE, _OPENING = 5, 2, 1 / 5, 2 / 3
#: Other versions of a fix that fails, lines around it, and tokens of each.
_VERSIONS, _AROUND, _VERSION = 4, 15, 300


def run_free_repair(index: int, bench: RepairBench) -> Repair:
    """Carry out one run; those after the first are drawn more freely.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    temperature = 0.6 if index else 0.0
    sampling = Sampling(temperature=temperature, seed=bench.seed, max_tokens=_REPLY)
    session = bench.session("auto", index, steps=STEPS, sampling=sampling, observation=_OBSERVATION)
    return repair_of(bench, "auto", index, run_agent(FreeRepair(bench), session))


class FreeRepair:
    """Repairs one bug, with or without a test that fails because of it."""

    def __init__(self, bench: RepairBench) -> None:
        """Repair the bench's bug."""
        self.bench = bench
        self.bug = bench.bug
        self.actions = actions_of(self)
        self._openings: dict[int, tuple[Message, ...]] = {}

    def allowed(self, steps: Sequence[Step]) -> Sequence[str]:
        """Return all actions, but the end only where a fix is kept."""
        is_kept = any(fix.passes for step in steps for fix in step.fixes)
        return tuple(name for name in self.actions if name != "finish" or is_kept)

    def messages(self, steps: Sequence[Step], room: int, count: Counter) -> Sequence[Message]:
        """Return the opening, then each reply and its result."""
        if room not in self._openings:
            self._openings[room] = self._opening(room, count)
        return conversation(self._openings[room], steps, room, count)

    def _opening(self, room: int, count: Counter) -> tuple[Message, ...]:
        bug = self.bug
        runs = first_runs(bug.failing)
        values = {
            "actions": describe(self.actions.values()),
            "report": report_text(bug.issue),
            "title": bug.issue.title,
            "tests": tell_runs(runs, bug.names) if runs else "",
            "brt": bug.source_of(bug.failing[0]) if bug.failing else "",
            "places": tell_places(bug, _PLACES),
            "code": self._likeliest_code(Room(most=int(room * _CODE), count=count)),
        }
        for name in ("code", "report", "tests", "brt"):
            messages = bug.prompts.ask("free_repair", **values)
            excess = count.of(messages) - int(room * _OPENING)
            if excess <= 0:
                break
            values[name] = cut(values[name], max(0, count(values[name]) - excess), count)
        return bug.prompts.ask("free_repair", **values)

    def _likeliest_code(self, room: Room) -> str:
        """Return the code of the likeliest places, whole functions as far as they fit."""
        shown: list[str] = []
        for place in self.bug.places()[:_SHOWN]:
            left = Room(most=room.most - room.count("\n\n".join(shown)), count=room.count)
            if place.end_line and left.most > room.most // 4:
                code = show_lines(self.bug.tree, place.path, place.line, place.end_line, left)
                shown.append(code)
        return "\n\n".join(shown)

    @action()
    def look(self, turn: Turn, path: A[Place, "FILE or FILE:LINE"]) -> Outcome:
        """Show a file, or the function around a line."""
        return Outcome(observation=show_file(turn.tree, path, turn.room))

    @action()
    def search(self, turn: Turn, text: A[str, "a name or some code", 120]) -> Outcome:
        """Find lines of the project."""
        return Outcome(observation=search_code(turn.tree, self.bug.index, text))

    @action()
    def list_calls(
        self,
        turn: Turn,
        name: A[str, "a function"],
        path: A[File, "a file, or nothing for the project"] = NO_FILE,
    ) -> Outcome:
        """Show calls of a function."""
        return Outcome(observation=list_calls(self.bug.index, name, path))

    @action()
    def run_tests(self, turn: Turn, which: Which = FAILING) -> Outcome:
        """Run tests on the code as it is."""
        return tests_outcome(self.bug, turn, which)

    @action(ABOUT, code=BLOCKS, lines=LINES, deserves_thought=True)
    def write_fix(self, turn: Turn, changes: Changes, code: tuple[str, ...]) -> Outcome:
        """Try a fix, and other versions of one that fails; the first that stands ends the run."""
        first = try_fix(self.bug, changes, code)
        versions = None if first.trial.stands else self._versions(turn, first)
        done = fix_outcome(self.bug, first, versions)
        stands = any(isinstance(one, FixTried) and one.stands for one in done.effects)
        if not stands:
            return done
        if first.trial.is_weakly_tested:
            # Any other value would pass: the model is to look at what there is now.
            told = f"{done.observation}\nIf that is what the report asks for, finish."
            return replace(done, observation=told)
        return replace(done, effects=(*done.effects, Finished()))

    @action(repeatable=True)
    def finish(self, turn: Turn) -> Outcome:
        """End: the fix that is kept is right."""
        return Outcome(observation="Done.", effects=(Finished(),))

    def _versions(self, turn: Turn, first: Tried) -> tuple[Trial, ...] | None:
        """Try other versions of the lines of a fix; None where none are asked for."""
        wanted = min(_VERSIONS, self.bench.variants)
        if not wanted or len(first.fix) != 1 or first.fix[0].kind is EditKind.DELETE:
            return None
        (edit,) = first.fix
        lines = self.bug.tree.lines(edit.path)
        session = turn.session
        code = numbered(lines, max(1, edit.first - _AROUND), edit.last + _AROUND)
        prompt = Prompt(
            messages=self.bug.prompts.ask(
                "free_repair/versions",
                title=self.bug.issue.title,
                path=edit.path,
                code=code,
                span=edit.span,
                kind=edit.kind.value,
                fix="\n".join(edit.lines),
                failure=tell_trial(self.bug, first.trial),
                wanted=wanted,
            ),
            sampling=replace(session.sampling, seed=turn.seed, max_tokens=wanted * _VERSION),
            seconds=session.seconds(),
            purpose="versions",
        )
        try:
            (answer,) = session.model.complete(prompt)
        except ModelProblem:
            return None
        blocks, closed = fenced_blocks(answer.text)
        whole = blocks[:-1] if answer.is_cut and not closed else blocks
        new = [tuple(block.removesuffix("\n").split("\n")) for block in whole[:wanted]]
        fixes = [(replace(edit, lines=written),) for written in new]
        return try_others(self.bug, turn, first, fixes)
