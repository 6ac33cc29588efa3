"""The agents that write bug reproduction tests.

`BrtAgent` is that of "Agentic Bug Reproduction for Effective Automated Program Repair at Google"
(paper 001), defaults included: one model decides, and an editor writes. `FreeAgent` is ours, for
`auto`: it knows what was found before, writes whole tests, and each runs at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated as A

from pytest_brt.agent.action import (
    LONGEST_THOUGHT,
    NewFile,
    Outcome,
    Place,
    Refusal,
    action,
    actions_of,
    describe,
)
from pytest_brt.agent.lines import show_file
from pytest_brt.agent.loop import Turn
from pytest_brt.agent.memory import Counter, conversation
from pytest_brt.agent.report_text import report_text
from pytest_brt.agent.search import search_code
from pytest_brt.model.base import Message, Prompt, Sampling
from pytest_brt.reproduce.agent.edit_test import ask_for_test, refuse_product, write_tests
from pytest_brt.reproduce.agent.run_test import run_test_file
from pytest_brt.reproduce.agent.task import TestTask, tests_in
from pytest_brt.reproduce.prompting.fit import bug_values, fitted, listings_of, whole_files
from pytest_brt.types import Finished, Origin, Step, TestsRan, TestsWritten
from pytest_brt.types.attempt import Shortened

#: Share of the context that the opening may take.
_SHARE = 0.65


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The messages that come before the first step, and what of them did not fit."""

    messages: tuple[Message, ...]
    shortened: tuple[Shortened, ...]


class TestWriter:
    """What both agents can do: look around, and declare the work done."""

    #: pytest must not take this for a test class.
    __test__ = False

    #: The folder of its prompts.
    prompts: str

    def __init__(self, task: TestTask) -> None:
        """Write a test for the task's report."""
        self.task = task
        self.actions = actions_of(self)
        self._openings: dict[int, Opening] = {}

    @property
    def shortened(self) -> tuple[Shortened, ...]:
        """What did not fit into the last opening."""
        return next((one.shortened for one in reversed(self._openings.values())), ())

    def allowed(self, steps: Sequence[Step]) -> Sequence[str]:
        """Return all actions: these agents have one state."""
        return tuple(self.actions)

    def messages(self, steps: Sequence[Step], room: int, count: Counter) -> Sequence[Message]:
        """Return the opening, then each reply and its result.

        Raises:
            PromptTooLong: not even the report fits.
        """
        if room not in self._openings:
            self._openings[room] = self.opening(room)
        return conversation(self._openings[room].messages, steps, room, count)

    def opening(self, room: int) -> Opening:
        """Return the opening, in a share of `room` tokens.

        Raises:
            PromptTooLong: not even the report fits.
        """
        raise NotImplementedError

    def _values(self, texts: Mapping[str, str]) -> dict[str, object]:
        return {
            **bug_values(self.task.brief, texts),
            "actions": describe(self.actions.values()),
            "longest_thought": LONGEST_THOUGHT,
            "new_test": self.task.new_test_file,
        }

    def _prompt(self, texts: Mapping[str, str], room: int) -> Prompt:
        context = self.task.bench.model.context
        reserved = context - min(room, int(context * _SHARE))
        messages = self.task.bench.prompts.ask(self.prompts, **self._values(texts))
        return Prompt(messages=messages, sampling=Sampling(max_tokens=reserved))

    @action()
    def cat(self, turn: Turn, path: A[Place, "FILE or FILE:LINE"]) -> Outcome:
        """Show a file."""
        return Outcome(observation=show_file(turn.tree, path, turn.room))

    @action()
    def code_search(self, turn: Turn, text: A[str, "a name or some code", 120]) -> Outcome:
        """Find lines of the project."""
        return Outcome(observation=search_code(turn.tree, self.task.index, text))

    @action(repeatable=True)
    def finish(self, turn: Turn) -> Outcome:
        """End when the test fails for the reported reason."""
        self.refuse_end(turn.steps)
        return Outcome(observation="Done.", effects=(Finished(),))

    def refuse_end(self, steps: Sequence[Step]) -> None:
        """Raise where no test was run yet (paper 001, table 1).

        Raises:
            Refusal: it is too early to end.
        """
        if not any(isinstance(effect, TestsRan) for step in steps for effect in step.effects):
            raise Refusal("No test was run yet. Write a test and run it first.")


class BrtAgent(TestWriter):
    """Describes a test in words, has it written by the editor, and runs it."""

    prompts = "agent"

    def opening(self, room: int) -> Opening:
        """Return what the paper gives: the report, and the buggy files, whole where they fit."""
        task, hints = self.task, self.task.hints
        named = task.bench.buggy or hints.files[:1]
        suspects = tuple(s for s in hints.suspects if s.path in named)
        prompt, shortened, _ = fitted(
            lambda texts: self._prompt(texts, room),
            {"report": report_text(task.issue, whole=True), "examples": "yes"},
            ("suspected", "examples", "report"),
            task.brief,
            whole_files(replace(hints, suspects=suspects, host=""), task.index),
            most=int(room * _SHARE),
        )
        return Opening(messages=prompt.messages, shortened=shortened)

    @action()
    def edit(
        self,
        turn: Turn,
        path: A[NewFile, "FILE"],
        prompt: A[str, "what the test must call and assert", 600],
    ) -> Outcome:
        """Write a test into a test file, or rewrite yours."""
        return ask_for_test(self.task, turn, path, prompt)

    @action()
    def test(self, turn: Turn, path: A[Place, "FILE"]) -> Outcome:
        """Run your test in a file."""
        path = Place(path.partition(":")[0])
        return run_test_file(self.task, path, tests_in(path, turn.steps))


class FreeAgent(TestWriter):
    """Writes whole tests, each of which runs at once, and ends with the first that stands."""

    prompts = "free_agent"

    def opening(self, room: int) -> Opening:
        """Return the report, all that was found out about it, and what was tried before."""
        task, hints, found = self.task, self.task.hints, self.task.found
        parts = {
            "report": report_text(task.issue),
            "session": "\n".join(hints.session),
            "imports": "\n".join(hints.imports),
            "tests": "" if found and found.best else "\n\n".join(hints.tests[:1]),
            "fixtures": hints.fixtures,
            "best": found.best if found else "",
            "refused": "\n".join(found.refused) if found else "",
        }
        order = ("tests", "host", "suspected", "fixtures", "imports", "session")
        prompt, shortened, _ = fitted(
            lambda texts: self._prompt(texts, room),
            parts,
            (*order, "refused", "best", "report"),
            task.brief,
            listings_of(hints, task.index),
            most=min(_OPENING, int(room * _SHARE)),
        )
        return Opening(messages=prompt.messages, shortened=shortened)

    def _values(self, texts: Mapping[str, str]) -> dict[str, object]:
        refused = texts["refused"].split("\n") if texts["refused"] else ()
        return {**super()._values(texts), "refused": refused}

    @action(code=1, lines=60)
    def write_test(self, turn: Turn, path: A[NewFile, "FILE"], code: tuple[str, ...]) -> Outcome:
        """Write a whole test with its imports into a test file; it runs at once."""
        refuse_product(self.task, path)
        if not code:
            raise Refusal("There is no code. Write the test in one block after the header.")
        session = turn.session
        origin = Origin(strategy=self.task.strategy, model=session.model.name, seed=turn.seed)
        placed = write_tests(self.task, path, f"```python\n{code[0]}```\n", origin)
        mine = [t for one in placed.effects if isinstance(one, TestsWritten) for t in one.tests]
        ran = run_test_file(self.task, path, mine)
        stands = any(isinstance(one, TestsRan) and one.stands for one in ran.effects)
        return Outcome(
            observation=ran.observation,
            changes=placed.changes,
            effects=(*placed.effects, *ran.effects, *((Finished(),) if stands else ())),
        )

    def refuse_end(self, steps: Sequence[Step]) -> None:
        """Raise where there is no test yet, or the last is to be corrected; once for each.

        One that was found before may be kept.
        """
        if self.task.found is not None and self.task.found.best:
            return
        super().refuse_end(steps)
        number, ran = next(
            (step.number, effect)
            for step in reversed(steps)
            for effect in step.effects
            if isinstance(effect, TestsRan)
        )
        if ran.objection and not any(step.action == "finish" for step in steps[number:]):
            raise Refusal(f"Your test is not accepted: {ran.objection}. Correct it.")


#: Tokens of the free agent's opening; long reports take more.
_OPENING = 3_650
