"""What a run found out → the entries of its report: the only place where both are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import takewhile
from typing import TypeVar

from pytest_brt.render.answer import answer_issue, how_sure
from pytest_brt.render.causes import run_words
from pytest_brt.render.ranking import answer_ranking, fix_words, notes_of
from pytest_brt.render.report import (
    AttemptEntry,
    Dialogue,
    ExistingTests,
    FixEntry,
    IssueEntry,
    Outcome,
    PatchEntry,
    Ranking,
    RepairEntry,
    Report,
    Setting,
    TestEntry,
)
from pytest_brt.types import (
    Answer,
    Attempt,
    Cell,
    FoundFix,
    Frame,
    Guarded,
    Issue,
    JudgedTest,
    Note,
    PatchResult,
    Rank,
    Repair,
    RunRecord,
    Standing,
    TestRun,
    Verdict,
)

T = TypeVar("T")


def build_report(record: RunRecord, setting: Setting, exit_code: int) -> Report:
    """Return the report of a run."""
    return Report(
        setting=setting,
        exit_code=exit_code,
        issues=tuple(_issue(issue, record.attempts) for issue in record.issues),
        tests=_tests(record),
        rankings=(_ranking(record),) if record.ranks or record.not_run else (),
        repairs=tuple(map(_repair, record.repairs)),
        places=record.localised,
    )


def _entry(kind: type[T], *facts: object, **rest: object) -> T:
    """Return an entry with `rest`, and with what `facts` call like its other fields."""
    for field in fields(kind):  # type: ignore[arg-type]  # an entry is a dataclass
        for fact in facts:
            if field.name not in rest and hasattr(fact, field.name):
                value = getattr(fact, field.name)
                rest[field.name] = round(value, 6) if isinstance(value, float) else value
    return kind(**rest)


# -- reports, attempts and tests --------------------------------------------------------------


def _issue(issue: Issue, attempts: Sequence[Attempt]) -> IssueEntry:
    made = [attempt for attempt in attempts if attempt.issue == issue.id]
    answer = answer_issue(made) if made else None
    return _entry(
        IssueEntry,
        issue,
        answer=answer,
        notes=tuple(dict.fromkeys(_notes(made, answer))),
        attempts=tuple(map(_attempt, made)),
    )


def _notes(attempts: Sequence[Attempt], answer: Answer | None) -> Iterator[Note]:
    """Yield what the attempts at a report have to say that its answer does not."""
    said = answer.reason.text if answer and answer.reason else ""
    for attempt in attempts:
        by = f"{attempt.strategy}-{attempt.index:02}: " if len(attempts) > 1 else ""
        for note in (*attempt.misses, *attempt.notes):
            if note.text != said:
                yield replace(note, text=f"{by}{note.text}")


def _attempt(attempt: Attempt) -> AttemptEntry:
    return _entry(
        AttemptEntry,
        attempt,
        dialogues=tuple(
            Dialogue(actions=tuple(step.action for step in talk.steps), ending=talk.ending)
            for talk in attempt.trajectories
        ),
    )


def _tests(record: RunRecord) -> tuple[TestEntry, ...]:
    made = [_test(judged, one.issue) for one in record.attempts for judged in one.tests]
    given = [_test(judged, judged.test.issue, given=True) for judged in record.given]
    brought = [_test(judged, judged.test.issue) for judged in record.brought]
    every = (*made, *given, *brought)
    return tuple(sorted(every, key=lambda test: (not test.candidate, -test.confidence)))


def _test(judged: JudgedTest, issue: str, *, given: bool = False) -> TestEntry:
    test, judgement = judged.test, judged.judgement
    return _entry(
        TestEntry,
        test,
        test.origin,
        test.oracle,
        judgement,
        judged,
        issue=issue,
        given=given,
        brought_by=test.origin.patches,
        oracle=test.oracle.kind,
        file=test.path,
        sure=how_sure(judged),
        failure=run_words(judgement.runs[0]) if judgement.runs else "",
        at=place_of(judgement.runs[0]) if judgement.runs else "",
    )


def place_of(run: TestRun) -> str:
    """Return the last place in the project that a failure came through, and its variables.

    As in "at pkg/core.py:12 in divide, where a = 1, b = 0"; "" when the exception was raised
    by the test itself.
    """
    if run.raised is None:
        return ""
    # What lies before the test's own frame is the project too where that is pytest itself.
    inner = takewhile(lambda frame: not _is_test(frame), reversed(run.raised.frames))
    last = next((frame for frame in inner if frame.project), None)
    if last is None:
        return ""
    values = ", ".join(f"{name} = {value}" for name, value in run.raised.values)
    where = f", where {values}" if values else ""
    return f"at {last.path}:{last.line} in {last.function}{where}"


def _is_test(frame: Frame) -> bool:
    return not frame.project and not frame.path.startswith(("/", "<"))


# -- patches ----------------------------------------------------------------------------------


def _ranking(record: RunRecord) -> Ranking:
    ranks, tellings = record.ranks, record.tellings
    brought = [test for test in record.brought if test.judgement.candidate]
    return Ranking(
        issue=record.ranked,
        answer=answer_ranking(ranks, record.not_run, tellings, brought, record.tried),
        patches=tuple(map(patch_entry, ranks)),
        not_run=record.not_run,
        tellings=tellings,
        tried=record.tried,
        notes=tuple(notes_of(ranks)),
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
        note=_note(result, rank),
        cells=tuple(map(_outcome, result.cells)),
        own_cells=tuple(map(_outcome, result.own_cells)),
        existing=_existing(result.guarded),
    )


def _note(result: PatchResult, rank: Rank) -> str:
    """Return what is to be said about a patch besides figures."""
    if result.refused is not None:
        return result.refused.text
    parts = []
    if rank.epr is None:
        alone = "passes only bug tests that it brings"
        parts.append(alone if result.passes_own else "no bug test could be run on it")
        why = {run_words(cell) for cell in result.cells if cell.verdict is Verdict.INVALID}
        parts += why if len(why) == 1 else ()
    if rank.standing is Standing.CLOSE and rank.place and rank.place[0] != 1:
        parts.append("too close to the first to call")
    if rank.copies:
        parts.append(f"same as {', '.join(rank.copies)}")
    if result.regressions:
        parts.append(f"breaks {result.regressions[0].test}")
    return "; ".join([*parts, *(remark.text for remark in result.remarks)])


def _existing(guarded: Guarded | None) -> ExistingTests | None:
    if guarded is None:
        return None
    broken = (_entry(Outcome, one, reason=one.cause.text) for one in guarded.regressions)
    return _entry(ExistingTests, guarded, broken=tuple(broken))


def _outcome(cell: Cell) -> Outcome:
    return _entry(Outcome, cell, reason=run_words(cell))


# -- repairs ----------------------------------------------------------------------------------


def _repair(repair: Repair) -> RepairEntry:
    dialogue = repair.trajectory
    return _entry(
        RepairEntry,
        repair,
        given=repair.brt,
        steps=len(dialogue.steps) if dialogue else 0,
        ending=dialogue.ending if dialogue else None,
        fixes=tuple(map(_fix, repair.fixes)),
    )


def _fix(fix: FoundFix) -> FixEntry:
    return _entry(FixEntry, fix, patch=fix.patch.name, does=fix_words(fix), diff=fix.patch.text)
