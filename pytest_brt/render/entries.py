"""What a run found out → the entries of its report: the only place where both are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TypeVar

from pytest_brt.render.answer import answer_issue, answer_ranking, fix_words, how_sure, notes_of
from pytest_brt.render.report import (
    AttemptEntry,
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
from pytest_brt.render.words import run_words
from pytest_brt.types import (
    Attempt,
    Issue,
    JudgedTest,
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
    made = [_test(judged, one.issue) for one in record.attempts for judged in one.tests]
    given = [_test(judged, "") for judged in record.given]
    brought = [_test(judged, judged.test.issue) for judged in record.brought]
    tests = sorted((*made, *given, *brought), key=lambda one: (not one.candidate, -one.confidence))
    return Report(
        setting=setting,
        exit_code=exit_code,
        issues=tuple(_issue(issue, record.attempts) for issue in record.issues),
        tests=tuple(tests),
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
    said = answer.reason.text if answer and answer.reason else ""
    notes = [note for one in made for note in (*one.misses, *one.notes) if note.text != said]
    return _entry(
        IssueEntry,
        issue,
        answer=answer,
        notes=tuple(dict.fromkeys(notes)),
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
        judgement,
        judged,
        issue=issue,
        brought_by=test.origin.patches,
        oracle=test.oracle.kind,
        sentence=test.oracle.sentence,
        file=test.path,
        sure=how_sure(judged),
        reason=_failure(judgement.runs[0]) if fails else judgement.reason,
    )


def _failure(run: TestRun) -> str:
    """Return how a test fails, with the variables of the last place in the project."""
    values = [f"{name} = {value}" for name, value in run.raised.values] if run.raised else []
    return ", where ".join(filter(None, (run_words(run), ", ".join(values))))


# -- patches ----------------------------------------------------------------------------------


def _ranking(record: RunRecord) -> Ranking:
    return _entry(
        Ranking,
        record,
        issue=record.ranked,
        answer=answer_ranking(record),
        patches=tuple(map(patch_entry, record.ranks)),
        notes=tuple(notes_of(record.ranks)),
    )


def patch_entry(rank: Rank) -> PatchEntry:
    """Return a patch of a ranking."""
    result, guarded = rank.result, rank.result.guarded
    broken = [_entry(Outcome, one, reason=one.cause.text) for one in result.regressions]
    return _entry(
        PatchEntry,
        result.patch,
        result,
        rank,
        diff=result.patch.text,
        note=_note(rank),
        cells=tuple(_entry(Outcome, one, reason=run_words(one)) for one in result.cells),
        existing=_entry(ExistingTests, guarded, broken=tuple(broken)) if guarded else None,
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
        parts += {run_words(cell) for cell in result.cells if cell.verdict is Verdict.INVALID}
    if rank.standing is Standing.CLOSE and rank.place and rank.place[0] != 1:
        parts.append("too close to the first to call")
    parts += [f"same as {copy}" for copy in rank.copies]
    parts += [f"breaks {broken.test}" for broken in result.regressions[:1]]
    return "; ".join([*parts, *(remark.text for remark in result.remarks)])


# -- repairs ----------------------------------------------------------------------------------


def _repair(repair: Repair) -> RepairEntry:
    talk = repair.trajectory
    fixes = [
        _entry(FixEntry, fix, patch=fix.patch.name, does=fix_words(fix), diff=fix.patch.text)
        for fix in repair.fixes
    ]
    return _entry(
        RepairEntry,
        repair,
        given=repair.brt,
        steps=len(talk.steps) if talk else 0,
        ending=talk.ending if talk else None,
        fixes=tuple(fixes),
    )
