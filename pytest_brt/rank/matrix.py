"""One row of the matrix patches × tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.guard import Touched, touched_by
from pytest_brt.oracle.environment_errors import missing_here
from pytest_brt.oracle.patch_values import is_value, showing, values_of
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.pysource.normal_form import patch_key
from pytest_brt.rank.brought import is_own
from pytest_brt.rank.guarding import Guarding
from pytest_brt.rank.singled_out import singled_out
from pytest_brt.rank.testers import named_testers
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    Author,
    Cell,
    FileChange,
    Guarded,
    JudgedTest,
    Note,
    Patch,
    PatchResult,
    TestRun,
    Value,
    Verdict,
)
from pytest_brt.types.cause import Cause, CauseCode

#: Names that are shown of those that a patch newly names.
_NAMES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What the tests did on a patched tree: the same for all patches that make equal trees."""

    cells: tuple[Cell, ...] = ()
    values: tuple[Value, ...] = ()
    remarks: tuple[Note, ...] = ()
    guarded: Guarded | None = None


#: Takes what patches that make equal trees have in common, and what runs the tests on one of them.
Sharing = Callable[[str, Callable[[], Ran]], Ran]


def run_patch(
    patch: Patch,
    issue: str,
    tests: tuple[JudgedTest, ...],
    engine: Runner,
    *,
    guarding: Guarding | None = None,
    share: Sharing = lambda _, work: work(),
) -> PatchResult:
    """Run every candidate among `tests` on a private view of the tree with `patch` applied.

    Tests that are not candidates have no cell: EPR leaves them out (paper 001). Existing tests
    that `guarding` chooses are run in the same row, which imports the project only once. `share`
    may give what the tests did on an equal patch instead of running them again.
    """
    started = time.perf_counter()
    root = Path(engine.subject.root)
    try:
        applied = apply_patch(patch, root)
        touched = touched_by(applied.changes, root)
    except PatchProblem as problem:
        return PatchResult(patch=patch, issue=issue, refused=problem.refused)
    normal = patch_key(applied.changes, root)
    named = named_testers(applied.changes, root)
    odd: list[Note] = []
    if named:
        text = (
            f"names what tests are run by: {', '.join(named[:_NAMES])} (read it, whatever its rank)"
        )
        odd.append(Note(code="names-test-tools", text=text))
    # A test that is no candidate holds what the report shows, too, unless a model wrote it.
    reported = [
        t for t in tests if t.judgement.candidate or t.test.origin.author is not Author.MODEL
    ]
    special = singled_out(applied.changes, root, reported)
    if special:
        text = f"may handle only the reported input: {special[0]}"
        odd.append(Note(code="singles-out-input", text=text))
    ran = share(normal, lambda: _run(patch.name, applied.changes, touched, tests, engine, guarding))
    brought = {judged.test.id for judged in tests if is_own(judged, patch)}
    # That its code cannot be imported is nothing that a patch's own test would favour.
    own = {c.test for c in ran.cells if c.test in brought and not c.cause.is_uncollected}
    return PatchResult(
        patch=patch,
        issue=issue,
        cells=tuple(cell for cell in ran.cells if cell.test not in own),
        own_cells=tuple(cell for cell in ran.cells if cell.test in own),
        remarks=(*applied.remarks, *odd, *ran.remarks),
        seconds=time.perf_counter() - started,
        normal=normal,
        size=touched.size,
        special=special,
        values=ran.values,
        guarded=ran.guarded,
    )


def _run(
    name: str,
    changes: tuple[FileChange, ...],
    touched: Touched,
    tests: tuple[JudgedTest, ...],
    engine: Runner,
    guarding: Guarding | None,
) -> Ran:
    candidates = tuple(judged for judged in tests if judged.judgement.candidate)
    chosen = guarding.choose(name, touched, candidates) if guarding is not None else None
    existing = chosen.targets if chosen is not None else ()
    shown = [*(judged.test for judged in candidates), *showing(candidates)]
    ran = engine.run([*map(Test.of, shown), *existing], changes)
    bug_tests = {judged.test.id for judged in candidates}
    runs = [run for run in ran if run.test in bug_tests]
    remarks: list[Note] = []
    if runs and all(run.exercised is False for run in runs):
        remarks.append(Note(code="not-exercised", text="no test reached the patched lines"))
    guarded = None
    if guarding is not None and chosen is not None:
        rest = [run for run in ran if run.test not in bug_tests and not is_value(run)]
        guarded = guarding.guard.judge(changes, touched, chosen, rest)
    return Ran(
        cells=tuple(map(_cell, runs)),
        values=values_of(ran, candidates),
        remarks=tuple(remarks),
        guarded=guarded,
    )


def _cell(run: TestRun) -> Cell:
    raised = run.raised_briefly
    lack = missing_here(raised) if run.verdict in (Verdict.FAIL, Verdict.BROKEN) else ""
    text = f"something around the test is missing: {lack}"
    return Cell(
        test=run.test,
        verdict=Verdict.INVALID if lack else run.verdict,
        cause=Cause(code=CauseCode.SURROUNDINGS, text=text) if lack else run.cause,
        raised=raised,
        exercised=run.exercised,
    )
