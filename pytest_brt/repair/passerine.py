"""Passerine, as "Agentic Bug Reproduction …" (paper 001) uses it: plain ReAct on a private tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated as A

from pytest_brt.agent.action import File, Outcome, Refusal, action, actions_of
from pytest_brt.agent.lines import show_lines
from pytest_brt.agent.loop import Turn, run_agent
from pytest_brt.agent.memory import Counter, conversation
from pytest_brt.agent.report_text import fitting_report
from pytest_brt.agent.running import fails, sort_runs, tell_runs
from pytest_brt.agent.search import search_code
from pytest_brt.agent.tree import Tree
from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.engine import Row, TestTarget, target_of
from pytest_brt.model.base import Message, Sampling
from pytest_brt.patches.left_out import left_out_kind
from pytest_brt.render.remarks import left_out_words
from pytest_brt.repair.ask_editor import ask_for_edit
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.bug import tell_places
from pytest_brt.repair.patch import found_fix
from pytest_brt.repair.result import why_none
from pytest_brt.repair.trial import Trial
from pytest_brt.types import FileChange, Finished, FixSource, Repair, Step, TestsRan, Trajectory

#: Steps of one run, runs, and how replies are drawn (paper 001).
STEPS, RUNS, TEMPERATURE, TOP_P = 25, 20, 0.2, 0.95
#: Places that are told, and test files that are named after an edit.
_PLACES, _TESTS = 5, 2
#: Longest reply, in tokens; the code of an edit is written in another one.
_REPLY = 400


def run_passerine(index: int, bench: RepairBench) -> Repair:
    """Carry out one run of Passerine, with the failing test where the bench has one.

    The paper finds that runs with and without one repair different bugs.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    bug = bench.bug
    sampling = Sampling(
        temperature=TEMPERATURE,
        top_p=TOP_P,
        top_k=0,
        seed=bench.seed,
        max_tokens=_REPLY,
    )
    agent = Passerine(bench)
    session = bench.session("passerine", index, steps=STEPS, sampling=sampling, tree=agent.tree)
    trajectory = run_agent(agent, session)
    fixes = tuple(
        found_fix(trial, bug.failing, bug.tree.root, source=FixSource.AGENT)
        for trial in agent.results(trajectory)
    )
    changed = any(step.changes for step in trajectory.steps)
    note = "the changed code does not pass the tests" if changed else "the files were not changed"
    return Repair(
        issue=bug.issue.id,
        strategy="passerine",
        index=index,
        fixes=fixes,
        brt=bench.brt.test.name if bench.brt else "",
        notes=() if fixes else (why_none(trajectory, note),),
        trajectory=trajectory,
    )


class Passerine:
    """Repairs one bug, with or without a test that fails because of it."""

    def __init__(self, bench: RepairBench) -> None:
        """Repair the bench's bug; the test that the bench gives is in the tree, in no patch."""
        self.bug = bench.bug
        self.given = bench.brt
        self.tree = self._with_given(bench.bug.tree)
        self.actions = actions_of(self)

    def _with_given(self, tree: Tree) -> Tree:
        if self.given is None or self.given.test.source is None:
            return tree
        test = self.given.test
        given = FileChange(path=test.path, content=(test.source or "").encode())
        return replace(tree, changed={given.path: given})

    def allowed(self, steps: Sequence[Step]) -> Sequence[str]:
        """Return all actions: it has one state."""
        return tuple(self.actions)

    def messages(self, steps: Sequence[Step], room: int, count: Counter) -> Sequence[Message]:
        """Return the opening, then each reply and its result; of a given test only the path."""
        opening = self.bug.prompts.ask(
            "repair/passerine",
            form=self.actions["cat"].example(),
            actions=self.actions.values(),
            report=fitting_report(self.bug.issue, room // 3, count),
            places=tell_places(self.bug, _PLACES),
            brt=self.given.test.name if self.given else "",
            brt_path=self.given.test.path if self.given else "",
        )
        return conversation(opening, steps, room, count)

    @action()
    def cat(self, turn: Turn, path: A[File, "a file"], first: A[int, "first line"] = 1) -> Outcome:
        """Show a file from a line on."""
        return Outcome(observation=show_lines(turn.tree, path, first, None, turn.room))

    @action()
    def code_search(self, turn: Turn, keywords: A[str, "a name or some code"]) -> Outcome:
        """Find lines of the project."""
        return Outcome(observation=search_code(turn.tree, self.bug.index, keywords))

    @action()
    def edit(
        self, turn: Turn, path: A[File, "a file"], prompt: A[str, "what to change, exactly", 700]
    ) -> Outcome:
        """Describe a change of the code in words, with names and lines; it is made for you."""
        kind = left_out_kind(path, b"", b"x")
        if kind is not None or is_test_path(path):
            what = left_out_words(kind) if kind is not None else "a test"
            raise Refusal(f"{path} is {what}: only code of the project is changed.")
        edited = ask_for_edit(self.bug, turn, path, prompt)
        given = (self.given.test.path,) if self.given else ()
        near = dict.fromkeys((*given, *self.bug.tests_near(edited.changes)))
        return Outcome(observation=edited.tell([*near][:_TESTS]), changes=edited.changes)

    @action()
    def test(self, turn: Turn, path: A[File, "a test file"]) -> Outcome:
        """Run a test file."""
        target = TestTarget(id="test", path=path)
        if self.given is not None and path == self.given.test.path:
            target = replace(target_of(self.given.test), id="test")
        elif not is_test_path(path):
            raise Refusal(f"{path} is not a test file. Name one, as in tests/test_x.py.")
        trials, changes = self.bug.trials, self.tree.changes_by(turn.steps)
        if not changes:
            runs, before = trials.before(target), None
        else:
            runs = trials.engine.run(Row(changes=changes, targets=(target,))).runs
            # Where all is well nothing is gained by the time for another run.
            before = trials.before(target) if any(map(fails, runs)) else ()
        told = tell_runs(runs, before=before) if runs else "No test was found in it."
        ran = TestsRan(path=path, verdict=sort_runs(runs, before).verdict)
        return Outcome(observation=told, effects=(ran,))

    @action(repeatable=True)
    def finish(self, turn: Turn) -> Outcome:
        """End: the bug is repaired."""
        if not any(step.changes for step in turn.steps):
            raise Refusal("Nothing is changed yet. Edit the code first.")
        if not any(isinstance(effect, TestsRan) for step in turn.steps for effect in step.effects):
            raise Refusal("No test was run yet. Run one first.")
        return Outcome(observation="Done.", effects=(Finished(),))

    def results(self, trajectory: Trajectory) -> tuple[Trial, ...]:
        """Return the last trees of a run that are worth a look: one that breaks nothing.

        A model that has repaired a bug may go on and break it again, so what the files were in
        between is tried too. The last tree that passes the bug tests but breaks others comes
        after it.

        Raises:
            SubjectProblem: the project's interpreter cannot be started.
        """
        steps = trajectory.steps
        ends = [number for number, step in enumerate(steps, 1) if step.changes]
        breaking: tuple[Trial, ...] = ()
        for changes in (self.tree.changes_by(steps[:end]) for end in reversed(ends)):
            trial = self.bug.trials.run(changes) if changes else None
            if trial is None or not trial.is_judged:
                continue
            if not trial.broken:
                return (trial, *breaking)
            if trial.passes and not breaking:
                breaking = (trial,)
        return breaking
