"""What a dialogue with an agent comes to: the fixes that are worth a look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.bug import Bug
from pytest_brt.repair.patch import found_fix
from pytest_brt.types import Ending, FixTried, FoundFix, Patch, Repair, Step, Trajectory


def repair_of(bench: RepairBench, strategy: str, index: int, trajectory: Trajectory) -> Repair:
    """Return the repair that the fixes come to which a dialogue tried.

    Raises:
        SubjectProblem: the project's interpreter cannot be started.
    """
    bug = bench.bug
    fixes: dict[str, FoundFix] = {}
    for tried in kept_fixes(trajectory.steps):
        fix = _from_diff(bug, tried)
        if fix is not None:
            fixes.setdefault(fix.key, fix)
    return Repair(
        issue=bug.issue.id,
        strategy=strategy,
        index=index,
        fixes=tuple(sorted(fixes.values(), key=lambda fix: fix.broken)),
        brt=bug.failing[0].test.name if bug.failing else "",
        notes=() if fixes else (why_none(trajectory, _failed(trajectory.steps)),),
        trajectory=trajectory,
    )


def kept_fixes(steps: Sequence[Step]) -> Iterator[FixTried]:
    """Yield the fixes that are worth a look.

    Of the fix and the variants of one step those that stand, or else one that passes the bug tests
    and breaks existing ones.
    """
    for step in steps:
        standing = [fix for fix in step.fixes if fix.stands]
        yield from standing or [fix for fix in step.fixes if fix.passes][:1]


def why_none(trajectory: Trajectory, usual: str) -> str:
    """Return why a dialogue gave no fix: the `usual` reason, or that it could not even begin."""
    is_unstarted = trajectory.ending is Ending.TOKENS and not trajectory.steps
    return trajectory.reason if is_unstarted else usual


def _from_diff(bug: Bug, tried: FixTried) -> FoundFix | None:
    """Return the fix that a step tried; None when the tree is another one by now."""
    root = bug.tree.root
    try:
        applied = apply_patch(Patch(id="", name="fix.diff", text=tried.diff), root)
    except PatchProblem:
        return None
    trial = bug.trials.run(applied.changes)
    return found_fix(trial, bug.failing, root, source=tried.source, hypothesis=tried.hypothesis)


def _failed(steps: Sequence[Step]) -> str:
    tried = sum(bool(step.fixes) for step in steps)
    if not tried:
        return "no fix was tried"
    return f"{tried} fix{'es' if tried > 1 else ''} tried, none passes the tests"
