"""The report of a run, schema 3: what was found, for programs by statuses, codes and figures.

The terminal, JSON, Markdown and the page are all made of it, and read nothing else. What it has in
words is for people. ``docs/schema.py`` makes the JSON schema in the wheel, and docs/json.md, of
these classes and their comments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Literal, TypeVar

from pytest_brt.render.answer import (
    answer_issue,
    answer_ranking,
    how_sure,
    notes_of,
)
from pytest_brt.types import (
    Answer,
    Attempt,
    Author,
    Cost,
    Ending,
    Evidence,
    Guarded,
    Issue,
    JudgedTest,
    Measured,
    Note,
    OracleKind,
    Place,
    Rank,
    Repair,
    Review,
    RunRecord,
    Standing,
    Telling,
    Verdict,
    made_tests,
)
from pytest_brt.types.note import value

T = TypeVar("T")


@value
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


@value
class Outcome:
    """What a bug test did on a patch."""

    #: Its id.
    test: str
    #: What came of it; `INVALID` counts neither as passed nor in a patch's `total`.
    verdict: Verdict
    #: Why, in words.
    reason: str


@value
class TestEntry:
    """A test that was considered."""

    #: Hash of its content.
    id: str
    #: Of the test function, with its class where there is one.
    name: str
    #: Id of the report; empty for tests that were given, which count for every report.
    issue: str
    #: Who made it: `replay`, …; `given` for a person's, `patch` for one that came with a patch.
    strategy: str
    #: Whose test it is.
    author: Author
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
    #: What it rests on; null for tests of people and models.
    evidence: Evidence | None
    #: How many tests with such evidence were right, and how many were measured; null where
    #: something else, such as a model's word, speaks for or against the test.
    measured: Measured | None
    #: How likely it is right, 0 to 1, and how much it counts when patches are ranked: (right + 2) /
    #: (of + 4) of what was measured; 1 for a test that was given or accepted.
    confidence: float
    #: The same in words; without a number where none was measured.
    sure: str
    #: What it does on the unpatched tree; why it is no bug test, or how it fails.
    verdict: Verdict
    reason: str
    #: What a person said about it.
    review: Review


@value
class AttemptEntry:
    """One run of one strategy at a report."""

    #: Its strategy's name.
    strategy: str
    #: What was spent on a model.
    cost: Cost
    #: What was done in each step of the dialogues with a model.
    actions: tuple[str, ...]
    #: Why the last of these ended, or each sample of a prompt.
    endings: tuple[Ending, ...]


@value
class IssueEntry:
    """A bug report, and what it came to."""

    #: Hash of its content.
    id: str
    #: Its first heading or line.
    title: str
    #: The path as it was given, or `-`.
    source: str
    #: What was read of it.
    text: str
    #: Whether it was reproduced; null where that was not tried.
    answer: Answer | None
    #: What else there is to say, as in why the answer may be incomplete.
    notes: tuple[Note, ...]
    #: Where its bug may be, likeliest first; empty where that was not looked for.
    places: tuple[Place, ...]
    #: Each run of each strategy at it.
    attempts: tuple[AttemptEntry, ...]


@value
class PatchEntry:
    """A candidate patch."""

    #: Path within the folder.
    name: str
    #: Who wrote it, as its mail, its commits or its folder say; else empty.
    source: str
    #: As it was given.
    diff: str
    #: Why it does not apply to the tree; null where it does.
    refused: Note | None
    #: What is odd about it.
    remarks: tuple[Note, ...]
    #: All there is to say besides figures, in words.
    note: str
    #: First and last rank that it may have; they differ where patches share theirs.
    place: tuple[int, int] | None
    #: Bug tests that pass, of those that ran.
    passed: int
    total: int
    #: Ensemble Pass Rate: the share of candidate tests that pass, 0 to 1; null without any.
    epr: float | None
    #: Probability that it is right.
    score: float | None
    #: How sure the order is at its place; null for a single patch.
    standing: Standing | None
    #: The evidence of the strongest sure test that the first patch passes, `yours` where a person
    #: gave or accepted it; empty for all others.
    leads_by: str
    #: Names of the patches that make the same program.
    copies: tuple[str, ...]
    #: What the bug tests did on it, but for those that came with it.
    cells: tuple[Outcome, ...]
    #: Null when none were run.
    existing: Guarded | None

    @property
    def row(self) -> tuple[str, ...]:
        """Its cells in the table of a ranking; `HEADS` are its columns."""
        existing = self.existing
        broken = f"{len(existing.regressions)}/{existing.ran} break" if existing else "-"
        return (
            "-".join(map(str, dict.fromkeys(self.place or "-"))),
            self.name,
            f"{self.passed}/{self.total} pass" if self.total else "-",
            broken,
            *(
                "-" if figure is None else f"{figure:.2f}"
                for figure in (self.epr, self.score)
            ),
            self.note,
        )


HEADS = ("rank", "patch", "bug tests", "existing tests", "EPR", "score", "note")


@value
class Ranking:
    """The patches for one report, or for the tests that were given."""

    #: Id of the report, or empty.
    issue: str
    #: What it comes to.
    answer: Answer
    #: Best first; those without a place come last.
    patches: tuple[PatchEntry, ...]
    #: Names of patches that it lacks: it was interrupted, or running them went wrong.
    not_run: tuple[str, ...]
    #: What the calls of bug tests give that only say what is wrong; it decides nothing.
    values: tuple[Telling, ...]
    #: Calls on which leading patches differ that nothing else tells apart.
    tellings: tuple[Telling, ...]
    #: What there is to say about the existing tests and values, in words.
    notes: tuple[str, ...]

    @property
    def table(self) -> list[tuple[str, ...]]:
        """A row of heads, then one for each patch, best first; the note comes last.

        What no patch has, has no column.
        """
        columns = zip(HEADS, *(patch.row for patch in self.patches), strict=True)
        known = (column for column in columns if {*column[1:]} != {"-"})
        return list(zip(*known, strict=True))


@value
class FixEntry:
    """A candidate fix that a repair found."""

    #: Its name among the patches.
    patch: str
    #: It passes the failing tests that are trusted, and breaks no other that was run.
    plausible: bool
    #: The fix itself.
    diff: str


@value
class RepairEntry:
    """One run of one repair strategy."""

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


@value
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

    def sections(
        self,
    ) -> Iterator[tuple[IssueEntry | None, tuple[TestEntry, ...], Ranking | None]]:
        """Yield each report, the tests that are considered for it, and the ranking for it.

        A ranking of no report comes last.
        """
        for issue in (*self.issues, None):
            about = issue.id if issue else ""
            ranking = next((one for one in self.rankings if one.issue == about), None)
            if issue or ranking:
                yield issue, tuple(t for t in self.tests if t.issue in ("", about)), ranking


# -- what a run found out → its report ------------------------------------------------------


def build_report(record: RunRecord, setting: Setting, exit_code: int) -> Report:
    """Return the report of a run."""
    made = (*made_tests(record.attempts), *record.brought)
    tests = [_test(judged, judged.test.issue) for judged in made]
    tests += [_test(judged, "") for judged in record.given]
    tests.sort(key=lambda one: (one.candidate, one.confidence), reverse=True)
    return Report(
        setting=setting,
        exit_code=exit_code,
        issues=tuple(_issue(issue, record) for issue in record.issues),
        tests=tuple(tests),
        rankings=(_ranking(record),) if record.ranks or record.not_run else (),
        repairs=tuple(map(_repair, record.repairs)),
    )


def _entry(kind: type[T], *facts: object, **rest: object) -> T:
    """Return an entry with `rest`, and with what `facts` call like its other fields."""
    for fact in facts:
        for field in fields(kind):  # type: ignore[arg-type]  # an entry is a dataclass
            if hasattr(fact, field.name):
                rest.setdefault(field.name, getattr(fact, field.name))
    return kind(**rest)


# -- reports, attempts and tests --------------------------------------------------------------


def _issue(issue: Issue, record: RunRecord) -> IssueEntry:
    made = [attempt for attempt in record.attempts if attempt.issue == issue.id]
    answer = answer_issue(made) if made else None
    said = answer.reason.text if answer and answer.reason else ""
    notes = [note for one in made for note in one.notes if note.text != said]
    return _entry(
        IssueEntry,
        issue,
        answer=answer,
        notes=tuple(dict.fromkeys(notes)),
        places=dict(record.places).get(issue.id, ()),
        attempts=tuple(map(_attempt, made)),
    )


def _attempt(attempt: Attempt) -> AttemptEntry:
    talks = attempt.trajectories
    actions = tuple(step.action for talk in talks for step in talk.steps)
    endings = attempt.endings or tuple(talk.ending for talk in talks[-1:])
    return _entry(AttemptEntry, attempt, actions=actions, endings=endings)


def _test(judged: JudgedTest, issue: str) -> TestEntry:
    test, judgement = judged.test, judged.judgement
    fails = judgement.candidate and judgement.runs
    return _entry(
        TestEntry,
        test,
        test.origin,
        test.oracle,
        judgement,
        judged,
        issue=issue,
        brought_by=test.origin.patches,
        oracle=test.oracle.kind,
        file=test.path,
        sure=how_sure(judged),
        reason=judgement.runs[0].cause.text if fails else judgement.reason,
    )


# -- patches ----------------------------------------------------------------------------------


def _ranking(record: RunRecord) -> Ranking:
    return _entry(
        Ranking,
        record,
        issue=record.ranked,
        answer=answer_ranking(record),
        patches=tuple(map(patch_entry, record.ranks)),
        notes=tuple(notes_of(record)),
    )


def patch_entry(rank: Rank) -> PatchEntry:
    """Return a patch of a ranking."""
    result = rank.result
    return _entry(
        PatchEntry,
        result.patch,
        result,
        rank,
        diff=result.patch.text,
        note=_note(rank),
        cells=tuple(_entry(Outcome, one, reason=one.cause.text) for one in result.cells),
        existing=result.guarded,
    )


def _note(rank: Rank) -> str:
    """Return what is to be said about a patch besides figures."""
    result = rank.result
    if result.refused is not None:
        return result.refused.text
    parts = []
    if rank.epr is None:
        alone = "passes only bug tests that it brings"
        parts.append(alone if result.passes_own else "no bug test could be run on it")
        parts += {
            cell.cause.text for cell in result.cells if cell.verdict is Verdict.INVALID
        }
    if rank.standing is Standing.CLOSE and rank.place and rank.place[0] != 1:
        parts.append("too close to the first to call")
    parts += [f"same as {copy}" for copy in rank.copies]
    parts += [f"breaks {broken.test}" for broken in result.regressions[:1]]
    return "; ".join([*parts, *(remark.text for remark in result.remarks)])


# -- repairs ----------------------------------------------------------------------------------


def _repair(repair: Repair) -> RepairEntry:
    talk = repair.trajectory
    return _entry(
        RepairEntry,
        repair,
        given=repair.brt,
        steps=len(talk.steps) if talk else 0,
        ending=talk.ending if talk else None,
        fixes=tuple(
            _entry(FixEntry, fix, patch=fix.patch.name, diff=fix.patch.text)
            for fix in repair.fixes
        ),
    )
