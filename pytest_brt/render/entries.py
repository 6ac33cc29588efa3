"""What a run found out → the entries of its report: the only place where both are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import dropwhile
from typing import TypeVar

from pytest_brt.answers import answer_issue, answer_ranking
from pytest_brt.render.answer import (
    how_sure,
    issue_words,
    place_of,
)
from pytest_brt.render.causes import run_words, shortfall_words
from pytest_brt.render.fixes import fix_words
from pytest_brt.render.notes import attempt_words, name_of, notes_beside, warnings
from pytest_brt.render.ranking import does, existing, more_words, ranking_words
from pytest_brt.render.remarks import remark_sentence
from pytest_brt.render.report import (
    AttemptEntry,
    Dialogue,
    ExistingTests,
    Failure,
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
from pytest_brt.render.values import values
from pytest_brt.types import (
    Attempt,
    Cell,
    FailsBefore,
    FoundFix,
    Frame,
    Guarded,
    Issue,
    JudgedTest,
    PatchResult,
    Rank,
    Regression,
    Repair,
    RunRecord,
    Standing,
    TestRun,
    Trajectory,
    Verdict,
)

T = TypeVar("T")


def build_report(record: RunRecord, setting: Setting, exit_code: int) -> Report:
    """Return the report of a run."""
    rankings = dict.fromkeys(rank.result.issue for rank in record.ranks)
    rankings |= dict.fromkeys(lacking.issue for lacking in record.not_run)
    return Report(
        setting=setting,
        exit_code=exit_code,
        issues=tuple(_issue_entry(issue, record.attempts) for issue in record.issues),
        tests=_test_entries(record),
        rankings=tuple(_ranking(record, issue) for issue in rankings),
        repairs=tuple(
            repair_entry(repair, name_of(repair, record.repairs)) for repair in record.repairs
        ),
        places=record.localised,
    )


# -- reports, attempts and tests --------------------------------------------------------------


def _issue_entry(issue: Issue, attempts: Sequence[Attempt]) -> IssueEntry:
    made = [attempt for attempt in attempts if attempt.issue == issue.id]
    answer = answer_issue(made) if made else None
    begins, goes_on = issue_words(answer) if answer else ("", "")
    return _entry(
        IssueEntry,
        issue,
        answer=answer,
        verdict=begins + goes_on,
        headline=begins,
        warnings=tuple(warnings(made, answer)),
        notes=tuple(notes_beside(made, answer)),
        attempts=tuple(attempt_entry(attempt, name_of(attempt, made)) for attempt in made),
    )


def attempt_entry(attempt: Attempt, name: str) -> AttemptEntry:
    """Return how one run of one strategy went."""
    return _entry(
        AttemptEntry,
        attempt,
        name=name,
        tests=len(attempt.tests),
        candidates=sum(judged.judgement.candidate for judged in attempt.tests),
        remarks=attempt.notes,
        notes=tuple(attempt_words(attempt)),
        dialogues=tuple(map(_dialogue, attempt.trajectories)),
    )


def _dialogue(talk: Trajectory) -> Dialogue:
    actions = tuple(step.action for step in talk.steps)
    return _entry(Dialogue, talk, steps=len(actions), actions=actions)


def _test_entries(record: RunRecord) -> tuple[TestEntry, ...]:
    made = [
        judged_entry(judged, attempt.issue)
        for attempt in record.attempts
        for judged in attempt.tests
    ]
    given = [judged_entry(judged, judged.test.issue, given=True) for judged in record.given]
    brought = [judged_entry(judged, judged.test.issue) for judged in record.brought]
    every = (*made, *given, *brought)
    return tuple(sorted(every, key=lambda test: (not test.candidate, -test.confidence)))


def judged_entry(judged: JudgedTest, issue: str, *, given: bool = False) -> TestEntry:
    """Return a test, and what is known of it."""
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
        sure=how_sure(judgement.confidence, judgement.measured),
        failure=_failure(judgement.runs[0]) if judgement.runs else None,
    )


def _failure(run: TestRun) -> Failure:
    raised = run.raised
    if raised is not None:
        # What lies before the first frame of the tree is how pytest came there.
        raised = replace(raised, frames=tuple(dropwhile(_is_outside, raised.frames)))
    return Failure(reason=run_words(run), at=place_of(run), raised=raised)


def _is_outside(frame: Frame) -> bool:
    return frame.path.startswith(("/", "<"))


# -- patches ----------------------------------------------------------------------------------


def _ranking(record: RunRecord, issue: str) -> Ranking:
    ranks = [rank for rank in record.ranks if rank.result.issue == issue]
    not_run = next((lacking for lacking in record.not_run if lacking.issue == issue), None)
    answer = answer_ranking(ranks, not_run)
    begins, goes_on = ranking_words(answer, ranks)
    patches = tuple(
        patch_entry(rank.result, rank, place)
        for rank, place in zip(ranks, places(ranks), strict=True)
    )
    tellings = tuple(telling for telling in record.tellings if telling.issue == issue)
    brought = [t for t in record.brought if t.judgement.candidate and t.test.issue == issue]
    return Ranking(
        issue=issue,
        answer=answer,
        verdict=begins + goes_on + more_words(tellings, brought),
        headline=begins,
        patches=patches,
        not_run=not_run,
        tellings=tellings,
        notes=(*existing(ranks), *values(patches)),
    )


def places(ranks: Sequence[Rank]) -> Iterator[tuple[int, int] | None]:
    """Yield the first and last rank that each patch may have; those that tie share theirs."""
    tied: list[int] = []
    for rank in ranks:
        if rank.place is not None and rank.standing is Standing.TIED:
            tied += rank.place, rank.place + len(rank.placed_with)
    for rank in ranks:
        if rank.place is None:
            yield None
        elif rank.standing is Standing.TIED:
            yield min(tied), max(tied)
        else:
            yield rank.place, rank.place + len(rank.placed_with)


def patch_entry(
    result: PatchResult, rank: Rank | None = None, place: tuple[int, int] | None = None
) -> PatchEntry:
    """Return a patch and what was run on it; with its `rank`, where it stands."""
    return _entry(
        PatchEntry,
        result.patch,
        result,
        rank,
        diff=result.patch.text,
        refusal=result.refused.text if result.refused else "",
        note=_note(result, rank),
        place=place,
        does=does(rank) if rank else "",
        cells=tuple(map(_outcome, result.cells)),
        own_cells=tuple(map(_outcome, result.own_cells)),
        existing=_existing(result.guarded),
    )


def _note(result: PatchResult, rank: Rank | None) -> str:
    """Return what is to be said about a patch besides figures."""
    if result.refused is not None:
        return result.refused.text
    parts = []
    if rank is not None and rank.epr is None:
        alone = "passes only bug tests that it brings"
        parts.append(alone if rank.result.passes_own else "no bug test could be run on it")
        why = {run_words(cell) for cell in result.cells if cell.verdict is Verdict.INVALID}
        if len(why) == 1:
            parts += why
    if rank is not None and rank.standing is Standing.CLOSE and rank.place != 1:
        parts.append("too close to the first to call")
    if rank is not None and rank.copies:
        parts.append(f"same as {', '.join(rank.copies)}")
    if result.regressions:
        parts.append(f"breaks {result.regressions[0].test}")
    return "; ".join([*parts, *map(remark_sentence, result.remarks)])


def _existing(guarded: Guarded | None) -> ExistingTests | None:
    if guarded is None:
        return None
    return _entry(
        ExistingTests,
        guarded,
        chosen_by=guarded.by,
        broken=tuple(map(_existing_outcome, guarded.regressions)),
        failing_before=tuple(map(_existing_outcome, guarded.failing)),
        cut=", ".join(map(shortfall_words, guarded.shortfalls)),
    )


def _outcome(cell: Cell) -> Outcome:
    return _entry(Outcome, cell, reason=run_words(cell))


def _existing_outcome(failed: Regression | FailsBefore) -> Outcome:
    verdict = failed.verdict if isinstance(failed, Regression) else Verdict.FAIL
    reason = failed.cause.text
    return _entry(Outcome, failed, verdict=verdict, reason=reason)


# -- repairs ----------------------------------------------------------------------------------


def repair_entry(repair: Repair, name: str) -> RepairEntry:
    """Return what one run of one repair strategy found."""
    dialogue = repair.trajectory
    return _entry(
        RepairEntry,
        repair,
        name=name,
        given=repair.brt or None,
        steps=len(dialogue.steps) if dialogue else 0,
        ending=dialogue.ending if dialogue else None,
        fixes=tuple(map(_fix_entry, repair.fixes)),
    )


def _fix_entry(fix: FoundFix) -> FixEntry:
    return _entry(
        FixEntry,
        fix,
        patch=fix.patch.name,
        does=fix_words(fix),
        existing=_existing(fix.guarded),
        diff=fix.patch.text,
    )


def _entry(kind: type[T], *facts: object, **rest: object) -> T:
    """Return an entry with `rest`, and with what `facts` call like its other fields."""
    for field in fields(kind):  # type: ignore[arg-type]  # an entry is a dataclass
        for fact in facts:
            if field.name not in rest and hasattr(fact, field.name):
                value = getattr(fact, field.name)
                rest[field.name] = round(value, 6) if isinstance(value, float) else value
    return kind(**rest)
