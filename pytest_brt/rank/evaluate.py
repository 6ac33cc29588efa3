"""One patch: applied to a private copy, run with the bug tests and existing tests, remarked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_brt.errors import PatchProblem, SandboxProblem
from pytest_brt.guard import Guard
from pytest_brt.oracle.judge import missing_here
from pytest_brt.patches import apply_patch
from pytest_brt.patches.changes import touched_by
from pytest_brt.pysource.normal_form import patch_key
from pytest_brt.rank.asserted_bugs import without_asserted_bugs
from pytest_brt.rank.patch_tests import is_own
from pytest_brt.rank.remarks import remarks_on
from pytest_brt.rank.variations import run_calls
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    Cause,
    CauseCode,
    FileChange,
    JudgedTest,
    Note,
    Outcome,
    Patch,
    PatchResult,
    TestRun,
    Variation,
    Verdict,
)

#: Takes what patches that make the same program have in common, and what runs the tests on one.
Sharing = Callable[[str, Callable[[], PatchResult]], PatchResult]


def evaluate(
    patch: Patch,
    tests: tuple[JudgedTest, ...],
    runner: Runner,
    *,
    calls: Sequence[Variation] = (),
    guard: Guard | None = None,
    share: Sharing = lambda _, work: work(),
) -> PatchResult:
    """Run every bug test among `tests` on a private copy of the tree with `patch` applied.

    Tests that are no candidates have no cell: EPR leaves them out (paper 001). Existing tests that
    `guard` chooses run in the same process; then the `calls`, if a bug test passes or there is
    none. `share` may give what the tests did on an equal patch instead of running them again.
    """
    root = Path(runner.subject.root)
    try:
        applied = apply_patch(patch, root)
    except PatchProblem as problem:
        refused = Note(code=problem.code, text=str(problem))
        return PatchResult(patch=patch, refused=refused, normal=patch.name)
    bug_tests = tuple(judged for judged in tests if judged.judgement.candidate)
    work = partial(_run, patch, applied.changes, bug_tests, calls, runner, guard)
    normal = patch_key(applied.changes)
    ran = share(normal, work)
    # That its code cannot be imported is nothing that a patch's own test would favour.
    brought = {judged.test.id for judged in tests if is_own(judged, patch)}
    own = [
        cell for cell in ran.cells if cell.test in brought and not cell.cause.is_uncollected
    ]
    # How it was applied says least, and the table cuts what is last.
    effects = (*_effects(ran, bug_tests), *applied.remarks)
    return replace(
        ran,
        patch=patch,
        cells=tuple(cell for cell in ran.cells if cell not in own),
        own_cells=tuple(own),
        remarks=(*remarks_on(applied.changes, root, tests), *effects),
        normal=normal,
    )


def _run(
    patch: Patch,
    changes: tuple[FileChange, ...],
    bug_tests: tuple[JudgedTest, ...],
    calls: Sequence[Variation],
    runner: Runner,
    guard: Guard | None,
) -> PatchResult:
    """Return what bug tests, existing tests and calls do on a patched tree."""
    targets, guarded = [Test.of(judged.test) for judged in bug_tests], None
    if guard is None:
        runs = runner.run(targets, changes)
    else:
        runs, guarded = guard.run(targets, changes, touched_by(changes, guard.root))
        guarded = without_asserted_bugs(guarded, bug_tests, guard.root)
    ids = {test.id for test in targets}
    cells = tuple(_cell(run) for run in runs if run.test in ids)
    outcomes: tuple[Outcome, ...] = ()
    if not bug_tests or any(cell.verdict is Verdict.PASS for cell in cells):
        with suppress(SandboxProblem):  # what its tests did is known without
            outcomes = run_calls(calls, changes, runner)
    return PatchResult(patch=patch, cells=cells, outcomes=outcomes, guarded=guarded)


def _effects(result: PatchResult, tests: Sequence[JudgedTest]) -> Iterator[Note]:
    """Yield that no test reached a patch, or that none shows that it changes anything."""
    if not result.cells:
        return
    if all(cell.exercised is False for cell in result.cells):
        yield Note(code="not-exercised", text="no test reached the patched lines")
    before = {t.test.id: t.judgement.runs[0].raised_briefly for t in tests}
    same = [cell.raised and cell.raised == before.get(cell.test) for cell in result.cells]
    if all(same) and not result.regressions:
        text = "no bug test shows that it changes anything"
        yield Note(code="changes-nothing-shown", text=text)


def _cell(run: TestRun) -> TestRun:
    """Return what a bug test did on a patch, without what fills the memory."""
    verdict, cause, raised = run.verdict, run.cause, run.raised_briefly
    lack = missing_here(raised) if verdict in (Verdict.FAIL, Verdict.BROKEN) else ""
    if lack:
        text = f"something around the test is missing: {lack}"
        cause = Cause(code=CauseCode.OTHER, text=text)
    if lack or cause.code is CauseCode.TREE_TOO_SLOW:
        verdict = Verdict.INVALID
    return replace(run, verdict=verdict, cause=cause, raised=raised, output="", ran=())
