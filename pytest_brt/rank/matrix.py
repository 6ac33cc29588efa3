"""One row of the matrix patches × tests."""

from __future__ import annotations

import time
from pathlib import Path

from pytest_brt.errors import PatchProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.patches import apply_patch
from pytest_brt.types import CandidateTest, Cell, JudgedTest, Patch, PatchResult, TestRun


def target_of(test: CandidateTest) -> TestTarget:
    """Return `test` as the engine runs it."""
    return TestTarget(id=test.id, path=test.path, source=test.source, node=test.name)


def run_patch(
    patch: Patch, issue: str, tests: tuple[JudgedTest, ...], engine: Engine
) -> PatchResult:
    """Run every candidate among `tests` on a private view of the tree with `patch` applied.

    Tests that are not candidates have no cell: EPR leaves them out (paper 001). Without any
    candidate, the patch is still checked to apply.
    """
    started = time.perf_counter()
    try:
        applied = apply_patch(patch, Path(engine.subject.root))
    except PatchProblem as problem:
        return PatchResult(patch=patch, issue=issue, applies=False, reason=str(problem))
    targets = tuple(target_of(judged.test) for judged in tests if judged.judgement.candidate)
    notes = applied.notes
    cells: tuple[Cell, ...] = ()
    if targets:
        row = engine.run(Row(changes=applied.changes, targets=targets))
        cells = tuple(_cell(patch, run) for run in row.runs)
        notes += row.notes
        if all(run.exercised is False for run in row.runs):
            notes += ("no test reached the patched lines",)
    return PatchResult(
        patch=patch,
        issue=issue,
        applies=True,
        cells=cells,
        notes=notes,
        seconds=time.perf_counter() - started,
    )


def _cell(patch: Patch, run: TestRun) -> Cell:
    return Cell(patch=patch.id, test=run.test, verdict=run.verdict, reason=run.reason)
