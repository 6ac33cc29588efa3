"""Rows about runs: of repairs, the patches they wrote, what dialogues did, and why they ended."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from pytest_brt.evaluate.record import RepairRun, StudiedRun, StudyResult
from pytest_brt.evaluate.rows.row import Row, make_row, studied

WITH_TEST, ALONE = "with-test", "report-alone"
#: What is said of runs that write tests.
_NO_REPAIR: Row = {"whole": 1, "given": "", "outcome": ""}


def _about(run: RepairRun) -> Row:
    """Return what tells the runs of repairs apart."""
    return {
        "without": ", ".join(run.without),
        "whole": int(not run.without),
        "given": WITH_TEST if run.given else ALONE,
        "outcome": "fixed" if run.is_right else "unfixed",
    }


def run_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per run of a repair; one that did not begin is a run too."""
    for bug, found in studied(result, result.repaired):
        for run in found.runs:
            kept = [fix for fix in run.fixes if fix.kept]
            used = "used" if run.used else "unused"
            yield make_row(
                bug,
                run,
                **_about(run),
                use=used if run.given else "not-given",
                patches=len(run.fixes),
                fix=bool(kept),
                own=any(fix.own for fix in kept),
                right=run.is_right,
                same_as_fix=any(fix.same_as_fix for fix in kept),
                steps=len(run.actions),
                ending=", ".join(run.endings),
                first_right=min(run.right_steps, default=None),
                tokens=run.cost.tokens,
                read=run.cost.prompt_tokens,
                share_in_tools=run.tool_seconds / run.seconds if run.seconds else None,
            )


def fix_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per different tree that a run wrote."""
    for bug, found in studied(result, result.repaired):
        for run in found.runs:
            for fix in run.fixes:
                yield make_row(bug, fix, strategy=run.strategy, index=run.index, **_about(run))


def ending_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per dialogue, or per sample where there is none (paper 001, Table 5)."""
    for start, run in _dialogues(result):
        for ending in run.endings:
            yield start | {"ending": ending}


def step_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per step: its action, the pair it makes with the next, and what it wrote.

    Of a repair's call of write_fix it is known whether a plausible patch came of it.
    """
    for start, run in _dialogues(result):
        right = run.right_steps if isinstance(run, RepairRun) else ()
        named = [action or "other" for action in run.actions]
        for step, (action, following) in enumerate(zip_longest(named, named[1:]), 1):
            writes = action == "write_fix"
            yield start | {
                "step": step,
                "action": action,
                "pair": f"{action}→{following}" if following else None,
                "writes": int(writes),
                "plausible": int(step in right) if writes else None,
            }


def _dialogues(result: StudyResult) -> Iterator[tuple[Row, StudiedRun]]:
    """Yield each run that asked a model, and what its rows begin with.

    Repairs with parts switched off are left out: they say little of the strategy.
    """
    for stage, found in result.stages.items():
        for bug, one in studied(result, found):
            for run in one.runs:
                about = _about(run) if isinstance(run, RepairRun) else _NO_REPAIR
                if run.endings and about["whole"]:
                    name = f"{bug.id} {run.strategy} {about['given']} {run.index}"
                    start = make_row(bug, stage=stage, strategy=run.strategy, run=name)
                    yield start | {"outcome": about["outcome"]}, run
