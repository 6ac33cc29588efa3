"""One row of the matrix patches × tests."""

from __future__ import annotations

import time
from pathlib import Path

from pytest_brt.code.normal import patch_key
from pytest_brt.errors import PatchProblem, SubjectProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.guard import touched_by
from pytest_brt.patches import apply_patch
from pytest_brt.patches.testers import REMARK, named_testers
from pytest_brt.rank.guarding import Guarding
from pytest_brt.rank.varying import Varying
from pytest_brt.types import (
    CandidateTest,
    Cell,
    JudgedTest,
    Patch,
    PatchResult,
    TestRun,
    Varied,
)


def target_of(test: CandidateTest) -> TestTarget:
    """Return `test` as the engine runs it."""
    return TestTarget(id=test.id, path=test.path, source=test.source, node=test.name)


def run_patch(
    patch: Patch,
    issue: str,
    tests: tuple[JudgedTest, ...],
    engine: Engine,
    *,
    guarding: Guarding | None = None,
    varying: Varying | None = None,
) -> PatchResult:
    """Run every candidate among `tests` on a private view of the tree with `patch` applied.

    Tests that are not candidates have no cell: EPR leaves them out (paper 001). Without any
    candidate, the patch is still checked to apply. With a candidate, existing tests near the
    patch are run by `guarding`, and candidates with changed inputs by `varying`.
    """
    started = time.perf_counter()
    root = Path(engine.subject.root)
    try:
        applied = apply_patch(patch, root)
        touched = touched_by(applied, root)
    except PatchProblem as problem:
        return PatchResult(patch=patch, issue=issue, applies=False, reason=str(problem))
    targets = tuple(target_of(judged.test) for judged in tests if judged.judgement.candidate)
    notes = applied.notes
    named = named_testers(applied.changes, root)
    if named:
        notes += (f"{REMARK}: {', '.join(named[:5])} (read it, whatever its rank)",)
    cells: tuple[Cell, ...] = ()
    guarded = None
    varied: tuple[Varied, ...] = ()
    vary_cut = ""
    if targets:
        row = engine.run(Row(changes=applied.changes, targets=targets))
        cells = tuple(_cell(patch, run) for run in row.runs)
        notes += row.notes
        if all(run.exercised is False for run in row.runs):
            notes += ("no test reached the patched lines",)
        if varying is not None:
            spent = time.perf_counter() - started
            try:
                varied, vary_cut = varying.look(applied, tests, cells, spent)
            except SubjectProblem as problem:  # the rest still stands
                notes += (f"inputs were not changed: {problem}",)
        if guarding is not None:
            spent = time.perf_counter() - started
            guarded = guarding.look(applied, touched, tests, spent)
    return PatchResult(
        patch=patch,
        issue=issue,
        applies=True,
        cells=cells,
        notes=notes,
        seconds=time.perf_counter() - started,
        normal=patch_key(applied.changes, lambda path: _bytes(root / path)),
        size=touched.size,
        places=touched.places,
        guarded=guarded,
        varied=varied,
        vary_cut=vary_cut,
    )


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _cell(patch: Patch, run: TestRun) -> Cell:
    return Cell(
        patch=patch.id, test=run.test, verdict=run.verdict, reason=run.reason, raised=run.raised
    )
