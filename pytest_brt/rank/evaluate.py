"""One patch: applied to a private copy, run with the bug tests and existing tests, remarked on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
class TreeResult:
    """What the tests did on a patched tree: the same for all patches that make equal trees."""

    cells: tuple[Cell, ...] = ()
    values: tuple[Value, ...] = ()
    remarks: tuple[Note, ...] = ()
    guarded: Guarded | None = None


#: Takes what patches that make equal trees have in common, and what runs the tests on one of them.
Sharing = Callable[[str, Callable[[], TreeResult]], TreeResult]


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
    tree = _Tree(runner=runner, changes=applied.changes, touched=touched, tests=tests)
    ran = share(normal, lambda: tree.result(patch.name, guarding))
    # That its code cannot be imported is nothing that a patch's own test would favour.
    brought = {judged.test.id for judged in tests if is_own(judged, patch)}
    own = {c.test for c in ran.cells if c.test in brought and not c.cause.is_uncollected}
    special = special_cases(applied.changes, root, tests)
    return PatchResult(
        patch=patch,
        issue=issue,
        cells=tuple(cell for cell in ran.cells if cell.test not in own),
        own_cells=tuple(cell for cell in ran.cells if cell.test in own),
        remarks=(*applied.remarks, *_remarks(applied.changes, root, special), *ran.remarks),
        seconds=time.perf_counter() - started,
        normal=normal,
        size=touched.size,
        special=special,
        values=ran.values,
        guarded=ran.guarded,
    )


def _remarks(changes: Sequence[FileChange], root: Path, special: Sequence[str]) -> Iterator[Note]:
    """Yield for what the code of a patch is to be read, whatever its rank."""
    if named := named_test_tools(changes, root):
        names = ", ".join(named[:_NAMES])
        text = f"names what tests are run by: {names} (read it, whatever its rank)"
        yield Note(code="names-test-tools", text=text)
    if special:
        yield special_note(special[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """A patched tree, and the tests that are run on it."""

    runner: Runner
    changes: tuple[FileChange, ...]
    touched: Touched
    tests: tuple[JudgedTest, ...]

    def result(self, name: str, guarding: Guarding | None) -> TreeResult:
        """Run the tests on it, as the patch `name` makes it."""
        candidates = tuple(judged for judged in self.tests if judged.judgement.candidate)
        chosen = guarding.choose(name, self.touched, candidates) if guarding else None
        shown = [*(judged.test for judged in candidates), *showing(candidates)]
        existing = chosen.targets if chosen else ()
        runs = self.runner.run([*map(Test.of, shown), *existing], self.changes)
        ids = {judged.test.id for judged in candidates}
        cells = [_cell(run) for run in runs if run.test in ids]
        guarded = None
        if guarding is not None and chosen is not None:
            rest = [run for run in runs if run.test not in ids and not is_value(run)]
            guarded = guarding.guard.judge(self.changes, self.touched, chosen, rest)
            root = Path(self.runner.subject.root)
            guarded = without_asserted_bugs(guarded, candidates, root)
        return TreeResult(
            cells=tuple(cells),
            values=values_of(runs, candidates),
            remarks=tuple(_effects(cells, candidates, guarded)),
            guarded=guarded,
        )


def _effects(
    cells: Sequence[Cell], tests: Sequence[JudgedTest], guarded: Guarded | None
) -> Iterator[Note]:
    """Yield that no test reached a patch, or that none shows that it changes anything."""
    if cells and all(cell.exercised is False for cell in cells):
        yield Note(code="not-exercised", text="no test reached the patched lines")
    before = {judged.test.id: judged.judgement.runs for judged in tests}
    same = [
        cell.verdict is Verdict.FAIL
        and bool(before[cell.test])
        and before[cell.test][0].raised_briefly == cell.raised
        for cell in cells
    ]
    if same and all(same) and not (guarded and guarded.regressions):
        text = "no bug test shows that it changes anything"
        yield Note(code="changes-nothing-shown", text=text)


def _cell(run: TestRun) -> Cell:
    cell = Cell(
        test=run.test,
        verdict=run.verdict,
        cause=run.cause,
        raised=run.raised_briefly,
        exercised=run.exercised,
    )
    if run.cause.code is CauseCode.TREE_TOO_SLOW:
        return replace(cell, verdict=Verdict.INVALID)
    lack = missing_here(cell.raised) if run.verdict in (Verdict.FAIL, Verdict.BROKEN) else ""
    if not lack:
        return cell
    text = f"something around the test is missing: {lack}"
    cause = Cause(code=CauseCode.SURROUNDINGS, text=text)
    return replace(cell, verdict=Verdict.INVALID, cause=cause)
