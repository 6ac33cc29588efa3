"""One patch: applied to a private copy, run with the bug tests and existing tests, remarked on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.guard import Touched, touched_by
from pytest_brt.oracle.environment_errors import missing_here
from pytest_brt.oracle.patch_values import is_value, showing, values_of
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.pysource.normal_form import patch_key
from pytest_brt.rank.asserted_bugs import without_asserted_bugs
from pytest_brt.rank.guarding import Guarding
from pytest_brt.rank.patch_tests import is_own
from pytest_brt.rank.remarks import named_test_tools, special_cases, special_note
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    AppliedPatch,
    Cell,
    JudgedTest,
    Note,
    Patch,
    PatchResult,
    TestRun,
    Verdict,
)
from pytest_brt.types.cause import Cause, CauseCode

#: Names that are shown of those that a patch newly names.
_NAMES = 5
#: Takes what patches that make the same program have in common, and what runs the tests on one.
Sharing = Callable[[str, Callable[[], PatchResult]], PatchResult]


def evaluate(
    patch: Patch,
    issue: str,
    tests: tuple[JudgedTest, ...],
    runner: Runner,
    *,
    guarding: Guarding | None = None,
    share: Sharing = lambda _, work: work(),
) -> PatchResult:
    """Run every bug test among `tests` on a private copy of the tree with `patch` applied.

    Tests that are no candidates have no cell: EPR leaves them out (paper 001). Existing tests that
    `guarding` chooses run in the same process. `share` may give what the tests did on an equal
    patch instead of running them again.
    """
    started = time.perf_counter()
    root = Path(runner.subject.root)
    try:
        applied = apply_patch(patch, root)
        touched = touched_by(applied.changes, root)
    except PatchProblem as problem:
        return PatchResult(patch=patch, issue=issue, refused=problem.refused)
    normal = patch_key(applied.changes, root)
    candidates = tuple(judged for judged in tests if judged.judgement.candidate)
    ran = share(normal, lambda: _run(patch, applied, touched, candidates, runner, guarding))
    # That its code cannot be imported is nothing that a patch's own test would favour.
    brought = {judged.test.id for judged in tests if is_own(judged, patch)}
    own = {c.test for c in ran.cells if c.test in brought and not c.cause.is_uncollected}
    special = special_cases(applied.changes, root, tests)
    return replace(
        ran,
        patch=patch,
        issue=issue,
        cells=tuple(cell for cell in ran.cells if cell.test not in own),
        own_cells=tuple(cell for cell in ran.cells if cell.test in own),
        # How it was applied says least, and the table cuts what is last.
        remarks=(*_remarks(applied, root, special), *ran.remarks, *applied.remarks),
        seconds=time.perf_counter() - started,
        normal=normal,
        size=touched.size,
        special=special,
    )


def _remarks(applied: AppliedPatch, root: Path, special: Sequence[str]) -> Iterator[Note]:
    """Yield for what the code of a patch is to be read, whatever its rank."""
    if named := named_test_tools(applied.changes, root):
        names = ", ".join(named[:_NAMES])
        text = f"names what tests are run by: {names} (read it, whatever its rank)"
        yield Note(code="names-test-tools", text=text)
    if special:
        yield special_note(special[0])


def _run(
    patch: Patch,
    applied: AppliedPatch,
    touched: Touched,
    candidates: tuple[JudgedTest, ...],
    runner: Runner,
    guarding: Guarding | None,
) -> PatchResult:
    """Return what bug tests and existing tests do on a patched tree, and what that shows."""
    chosen = guarding.choose(patch.name, touched, candidates) if guarding else None
    shown = [*(judged.test for judged in candidates), *showing(candidates)]
    targets = [*map(Test.of, shown), *(chosen.targets if chosen else ())]
    runs = runner.run(targets, applied.changes)
    ids = {judged.test.id for judged in candidates}
    cells = tuple(_cell(run) for run in runs if run.test in ids)
    guarded = None
    if guarding is not None and chosen is not None:
        rest = [run for run in runs if run.test not in ids and not is_value(run)]
        guarded = guarding.guard.judge(applied.changes, touched, chosen, rest)
        guarded = without_asserted_bugs(guarded, candidates, Path(runner.subject.root))
    result = PatchResult(
        patch=patch, cells=cells, values=values_of(runs, candidates), guarded=guarded
    )
    return replace(result, remarks=tuple(_effects(result, candidates)))


def _effects(result: PatchResult, tests: Sequence[JudgedTest]) -> Iterator[Note]:
    """Yield that no test reached a patch, or that none shows that it changes anything."""
    if result.cells and all(cell.exercised is False for cell in result.cells):
        yield Note(code="not-exercised", text="no test reached the patched lines")
    before = {t.test.id: t.judgement.runs[0].raised_briefly for t in tests if t.judgement.runs}
    same = [cell.raised and cell.raised == before.get(cell.test) for cell in result.cells]
    if same and all(same) and not result.regressions:
        text = "no bug test shows that it changes anything"
        yield Note(code="changes-nothing-shown", text=text)


def _cell(run: TestRun) -> Cell:
    verdict, cause, raised = run.verdict, run.cause, run.raised_briefly
    lack = missing_here(raised) if verdict in (Verdict.FAIL, Verdict.BROKEN) else ""
    if lack:
        text = f"something around the test is missing: {lack}"
        cause = Cause(code=CauseCode.SURROUNDINGS, text=text)
    if lack or cause.code is CauseCode.TREE_TOO_SLOW:
        verdict = Verdict.INVALID
    return Cell(test=run.test, verdict=verdict, cause=cause, raised=raised, exercised=run.exercised)
