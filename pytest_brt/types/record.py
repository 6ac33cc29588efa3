"""What a run found: attempts at reports, their dialogues with a model, fixes and places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum

from pytest_brt.types.note import Fix, Note, value
from pytest_brt.types.patch import Guarded, Patch, Rank, Telling
from pytest_brt.types.report import Issue
from pytest_brt.types.test import FileChange, JudgedTest, Verdict


@value
class Cost:
    """What was spent on a model."""

    calls: int = 0
    #: Tokens of the prompts.
    prompt_tokens: int = 0
    #: Tokens made.
    tokens: int = 0
    #: Wall-clock seconds of waiting for it.
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """Return the sum of both."""
        return Cost(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
        )


@value
class Call:
    """An action that a model asked for, as it was understood."""

    action: str
    #: In the order of the action's arguments; all of them, with their defaults.
    arguments: tuple[tuple[str, str], ...] = ()
    #: The fenced blocks that came with it, each ending with a newline.
    code: tuple[str, ...] = ()


@value
class Step:
    """One turn of a dialogue: what a model replied, and what came of it."""

    #: 1-based.
    number: int
    #: As it came.
    reply: str
    #: What the model is shown of it.
    observation: str = ""
    #: None when the reply cannot be read.
    call: Call | None = None
    thought: str = ""
    #: Whether the action was carried out.
    is_done: bool = False
    #: Files of the private tree that it changed, as they are after it.
    changes: tuple[FileChange, ...] = ()
    #: What the tests did that it ran, None when it ran none.
    verdict: Verdict | None = None
    #: The fixes that it tried and took back.
    diffs: tuple[str, ...] = ()
    #: Seconds that the action took, without those of models.
    seconds: float = 0.0

    @property
    def action(self) -> str:
        """The name of the action, "" when the reply named none."""
        return self.call.action if self.call else ""


class Ending(StrEnum):
    """Why a dialogue with a model ended (paper 001 reports these)."""

    #: The model asked for it, and was allowed to.
    FINISH = "finish"
    STEPS = "steps"
    #: Nothing more fits the model's context, or the tokens allowed are used up.
    TOKENS = "tokens"
    TIME = "time"
    #: The same action again and again.
    LOOP = "loop"
    #: The model could not be asked any more.
    ERROR = "error"


@value
class Trajectory:
    """A whole dialogue."""

    steps: tuple[Step, ...]
    ending: Ending
    #: One line, for the reader.
    reason: str = ""


@value
class Attempt:
    """What one run of one strategy made of one issue."""

    issue: str
    strategy: str
    #: 0-based number of the run within its strategy.
    index: int
    #: Every test considered, best first.
    tests: tuple[JudgedTest, ...]
    #: Why the report's own code gave no bug test, the weightiest first; then what else there is.
    notes: tuple[Note, ...] = ()
    #: Tests that pass, of what the report complains about: only where no other was found.
    settled: tuple[JudgedTest, ...] = ()
    #: What made the first of them pass, as far as that was looked for.
    fix: Fix | None = None
    #: What a model was paid for it.
    cost: Cost = field(default_factory=Cost)
    #: The dialogues with a model, in order; none where it was not a dialogue.
    trajectories: tuple[Trajectory, ...] = ()
    #: How each sample of a prompt ended, for ways of working that have no dialogue.
    endings: tuple[Ending, ...] = ()


def made_tests(attempts: Iterable[Attempt]) -> tuple[JudgedTest, ...]:
    """Return the tests that were made, attempt by attempt."""
    return tuple(judged for attempt in attempts for judged in attempt.tests)


@value
class Place:
    """A function, class or file where the bug may be."""

    path: str
    #: Qualified name, or "" for the file as a whole.
    function: str
    #: 1-based span; the whole file is (1, 0).
    line: int
    end_line: int
    #: How much points at it, as a share of the likeliest; 0 for a place that the user gave.
    score: float = 0.0
    #: What points at it, the weightiest first.
    clues: tuple[Note, ...] = ()


@value
class FoundFix:
    """A candidate fix that a repair wrote, and what is known of it."""

    patch: Patch
    #: Equal for fixes that make equal trees, but for comments and layout.
    key: str
    #: A model wrote it that was asked for variants of the agent's.
    is_variant: bool
    #: It passes the failing tests that are to be trusted, and breaks no other that was run.
    plausible: bool
    #: Names of the tests that failed before and pass with it.
    passed: tuple[str, ...] = ()
    #: What the bug was held to be, or "".
    hypothesis: str = ""
    #: None when the project's own tests were not run.
    guarded: Guarded | None = None

    @property
    def broken(self) -> int:
        """How many existing tests fail with it that passed before."""
        return len(self.guarded.regressions) if self.guarded else 0


@value
class Repair:
    """What one run of one repair strategy made of one issue."""

    issue: str
    strategy: str
    #: 0-based number of the run within its strategy.
    index: int
    #: Also those that pass the failing tests and break existing ones: a person is to judge.
    fixes: tuple[FoundFix, ...]
    #: Name of the failing test that the model was given, or "".
    brt: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    cost: Cost = field(default_factory=Cost)
    trajectory: Trajectory | None = None


@value
class RunRecord:
    """All that one invocation found out."""

    issues: tuple[Issue, ...]
    attempts: tuple[Attempt, ...]
    #: Tests that a person gave or an earlier run wrote.
    given: tuple[JudgedTest, ...]
    #: Tests that patches brought.
    brought: tuple[JudgedTest, ...] = ()
    #: Id of the report that patches are ranked for, "" where only tests were given.
    ranked: str = ""
    ranks: tuple[Rank, ...] = ()
    repairs: tuple[Repair, ...] = ()
    #: Where the bugs of reports may be, likeliest first, with the ids of these.
    places: tuple[tuple[str, tuple[Place, ...]], ...] = ()
    #: Patches that the ranking lacks: it was interrupted, or running them went wrong.
    not_run: tuple[str, ...] = ()
    #: What the calls of bug tests give that only say what is wrong; it decides nothing.
    values: tuple[Telling, ...] = ()
    #: Calls on which leading patches differ that nothing else tells apart.
    tellings: tuple[Telling, ...] = ()
