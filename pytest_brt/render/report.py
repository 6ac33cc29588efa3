"""The report of a run, schema 3: what was found, for programs by statuses, codes and figures.

The terminal, JSON, Markdown and the page are all made of it, and read nothing else. What it has in
words is for people. ``docs/schema.py`` makes the JSON schema in the wheel, and docs/json.md, of
these classes and their comments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from pytest_brt.types import (
    Answer,
    AssertedBug,
    Author,
    ChosenBy,
    Cost,
    Ending,
    Evidence,
    FixSource,
    Localised,
    Measured,
    Note,
    NotRun,
    OracleKind,
    Review,
    Standing,
    Telling,
    Value,
    Verdict,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a run was made with."""

    #: What was typed.
    command: str
    #: When it ended, as in "2026-11-27 09:30".
    ended: str
    #: Of pytest-brt.
    version: str
    #: Version of the interpreter that runs the project, and how it was found.
    python: str
    #: How tests and patches were isolated.
    sandbox: str
    #: SHA-256 of the project's files before the run.
    tree: str

    @property
    def facts(self) -> str:
        """All that a person looks for, a few words each."""
        about = f"pytest-brt {self.version} · Python {self.python} · sandbox {self.sandbox}"
        return f"{self.ended} · {about} · {self.command}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a test did on one tree."""

    #: Id of a bug test, or node id of an existing test.
    test: str
    #: What came of it; `INVALID` counts neither as passed nor in a patch's `total`.
    verdict: Verdict
    #: Why, in words.
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestEntry:
    """A test that was considered."""

    #: pytest must not take this for a test class.
    __test__: ClassVar[bool] = False

    #: Hash of its content.
    id: str
    #: Of the test function, with its class where there is one.
    name: str
    #: Id of the report; empty for tests given with `--brt-tests`.
    issue: str
    #: It was given, or an earlier run wrote it: it counts for every report.
    given: bool
    #: Who made it: `replay`, …; `given` for a person's, `patch` for one that came with a patch.
    strategy: str
    #: Whose test it is.
    author: Author
    #: The model that wrote it, or empty.
    model: str
    #: Names of the patches that it came with.
    brought_by: tuple[str, ...]
    #: By what it tells wrong from right; the same in words.
    oracle: OracleKind
    sentence: str
    #: Where it is placed in the project, and the test file in which it belongs, or empty.
    file: str
    host: str
    #: A whole test module; null when the project holds the file.
    source: str | None
    #: It fails on the unpatched tree, every time, and may be about the report's bug.
    candidate: bool
    #: It decides which patch leads, and is written: a confidence of 0.6 or more.
    counts: bool
    #: It may be said that it reproduces the report: a confidence of 0.8 or more, of at least twenty
    #: such tests, or a person's word.
    reproduces: bool
    #: What it rests on; null for tests of people and models.
    evidence: Evidence | None
    #: How many tests with such evidence were right, and how many were measured; null where
    #: something else, such as a model's word, speaks for or against the test.
    measured: Measured | None
    #: How likely it is right, 0 to 1, and how much it counts when patches are ranked: (right + 2) /
    #: (of + 4) of what was measured; 1 for a test that was given or accepted.
    confidence: float
    #: The same in words; without a number where fewer than ten were measured.
    sure: str
    #: What it does on the unpatched tree, and why it is judged so.
    verdict: Verdict
    reason: str
    #: How it fails there, and the last place in the project that this came through, or empty.
    failure: str
    at: str
    #: What a person said about it.
    review: Review
    #: How many of a model's samples fail like it, and of how many.
    agree: int
    samples: int

    @property
    def full_name(self) -> str:
        """Its name, with its file where the project holds that."""
        return self.name if self.source else f"{self.file}::{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """How a dialogue with a model went."""

    #: What was done in each step.
    actions: tuple[str, ...]
    #: Why it ended.
    ending: Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEntry:
    """One run of one strategy at a report."""

    #: Its strategy's name.
    strategy: str
    #: Number of the run within its strategy, from 0.
    index: int
    #: Wall-clock.
    seconds: float
    #: What was spent on a model.
    cost: Cost
    #: Those with a model.
    dialogues: tuple[Dialogue, ...]
    #: Why each sample of a prompt ended, of strategies that have no dialogues.
    endings: tuple[Ending, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueEntry:
    """A bug report, and what it came to."""

    #: Hash of its content.
    id: str
    #: Its first heading or line.
    title: str
    #: The path as it was given, or `-`.
    source: str
    #: All of it.
    text: str
    #: Whether it was reproduced; null where that was not tried.
    answer: Answer | None
    #: What else there is to say, as in why the answer may be incomplete.
    notes: tuple[Note, ...]
    #: Each run of each strategy at it.
    attempts: tuple[AttemptEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingTests:
    """What the project's own tests say about a patch."""

    #: Tests that pass on the unpatched tree and were run on the patched one, and all there are.
    ran: int
    total: int
    #: Those chosen that execute a changed line; null where that cannot be seen.
    reached: int | None
    #: By what they were chosen.
    by: ChosenBy
    #: Tests that fail newly.
    broken: tuple[Outcome, ...]
    #: Those that do because they assert the bug: they count against no patch.
    disputed: tuple[AssertedBug, ...]
    #: Why no more were run.
    shortfalls: tuple[Note, ...]
    #: Wall-clock.
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchEntry:
    """A candidate patch."""

    #: Path within the folder.
    name: str
    #: Who wrote it, as its mail, its commits or its folder say; else empty.
    source: str
    #: As it was given.
    diff: str
    #: Lines added and removed.
    size: int
    #: Whether it applies to the tree; else why not.
    applies: bool
    refused: Note | None
    #: What is odd about it.
    remarks: tuple[Note, ...]
    #: All there is to say besides figures, in words.
    note: str
    #: First and last rank that it may have; they differ where patches share theirs.
    place: tuple[int, int] | None
    #: Bug tests that pass, of those that ran.
    passed: int = 0
    total: int = 0
    #: Ensemble Pass Rate: the share of candidate tests that pass, 0 to 1; null without any.
    epr: float | None = None
    #: Probability that it is right.
    score: float | None = None
    #: How sure the order is at its place; null for a single patch.
    standing: Standing | None = None
    #: The evidence of the strongest sure test that the first patch passes, `yours` where a person
    #: gave or accepted it; empty for all others.
    leads_by: str = ""
    #: Names of the patches that make the same program.
    copies: tuple[str, ...] = ()
    #: What moved its score, strongest first, in words.
    because: tuple[str, ...] = ()
    #: What the bug tests did on it; and those that came with it, which do not count here.
    cells: tuple[Outcome, ...]
    own_cells: tuple[Outcome, ...]
    #: Null when none were run.
    existing: ExistingTests | None
    #: What the expressions of bug tests give on it that only say what is wrong.
    values: tuple[Value, ...]
    #: Wall-clock.
    seconds: float

    @property
    def broken(self) -> tuple[Outcome, ...]:
        """The existing tests that fail newly."""
        return self.existing.broken if self.existing else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The patches for one report, or for the tests that were given."""

    #: Id of the report, or empty.
    issue: str
    #: What it comes to.
    answer: Answer
    #: Best first; those without a place come last.
    patches: tuple[PatchEntry, ...]
    #: Patches that it lacks: it was interrupted, or running them went wrong.
    not_run: NotRun | None
    #: Calls on which leading patches differ that nothing else tells apart.
    tellings: tuple[Telling, ...]
    #: How many calls were tried on patches, to find one.
    tried: int
    #: What there is to say about the existing tests and values, in words.
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixEntry:
    """A candidate fix that a repair found."""

    #: Its name among the patches.
    patch: str
    #: Whether the agent wrote it, or a model that was asked for variants.
    source: FixSource
    #: It passes the failing tests that are trusted, and breaks no other that was run.
    plausible: bool
    #: Failing tests that pass with it, and how many there are.
    passed: tuple[str, ...]
    total: int
    #: What it does, in words.
    does: str
    #: What the bug was held to be.
    hypothesis: str
    #: The fix itself.
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairEntry:
    """One run of one repair strategy."""

    #: Id of the report.
    issue: str
    #: Its strategy's name.
    strategy: str
    #: Number of the run within its strategy, from 0.
    index: int
    #: The failing test that the model was shown, or empty.
    given: str
    #: Wall-clock.
    seconds: float
    #: Of its dialogue, and why that ended.
    steps: int
    ending: Ending | None
    #: What was spent on the model.
    cost: Cost
    #: Why there is no fix, in words.
    notes: tuple[str, ...]
    #: Those that pass the failing tests.
    fixes: tuple[FixEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that one run found out."""

    #: Counts incompatible changes: keys are only ever added within one number.
    schema: Literal[3] = 3
    #: What it was made with.
    setting: Setting
    #: What the run ended with, unless a file could not be written.
    exit_code: int
    #: The bug reports, in the order given.
    issues: tuple[IssueEntry, ...]
    #: All that were considered; bug tests first, and of these the best.
    tests: tuple[TestEntry, ...]
    #: The candidate patches, ranked for each report.
    rankings: tuple[Ranking, ...]
    #: Each run of each repair strategy.
    repairs: tuple[RepairEntry, ...]
    #: Where each localised bug may be.
    places: tuple[Localised, ...]

    def tests_of(self, issue: str) -> tuple[TestEntry, ...]:
        """Return the tests by which the patches of a report may be ranked."""
        return tuple(test for test in self.tests if test.given or test.issue == issue)

    def sections(self) -> Iterator[tuple[IssueEntry | None, Ranking | None]]:
        """Yield each report with its ranking, then rankings of no report."""
        rankings = {ranking.issue: ranking for ranking in self.rankings}
        for issue in self.issues:
            yield issue, rankings.pop(issue.id, None)
        for ranking in rankings.values():
            yield None, ranking


def candidates(tests: Iterable[TestEntry]) -> tuple[TestEntry, ...]:
    """Return the bug tests, the sure ones and the possible ones."""
    return tuple(test for test in tests if test.candidate)
