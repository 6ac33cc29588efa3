"""What a repair strategy is, and the two there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.repair.passerine import react, results
from pytest_brt.repair.patch import found_fix
from pytest_brt.repair.repairagent import repair
from pytest_brt.repair.site import RepairBench, Site
from pytest_brt.repair.states import patches_in, recall
from pytest_brt.types import FixSource, FoundFix, Patch, Repair, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairStrategy:
    """A way of repairing a bug."""

    #: Carries out one run: 0-based number, bench → repair.
    attempt: Callable[[int, RepairBench], Repair]
    #: Independent runs per issue.
    runs: int = 1
    #: Whether only every other run, from the first on, is given the failing test.
    alternates: bool = False


def run_repairagent(index: int, bench: RepairBench) -> Repair:
    """Carry out one run of RepairAgent.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    site = bench.site
    nothing = Repair(issue=site.issue.id, strategy="repairagent", index=index, fixes=())
    if not site.failing and not bench.blind:
        note = (
            "no test fails because of the bug, so no fix can be judged (give one with "
            "--brt-tests PATH, or take --brt-repair-strategy passerine)"
        )
        return replace(nothing, notes=(note,))
    trajectory = repair(bench, index)
    fixes: dict[str, FoundFix] = {}
    for diff, source, step in patches_in(trajectory.steps):
        fix = _from_diff(site, diff, source, trajectory.steps[: step.number])
        if fix is not None:
            fixes.setdefault(fix.key, fix)
    return replace(
        nothing,
        fixes=tuple(sorted(fixes.values(), key=lambda fix: fix.broken)),
        brt=site.failing[0].test.name if site.failing else "",
        notes=() if fixes else (_failed(recall(trajectory.steps).tried),),
        trajectory=trajectory,
    )


def run_passerine(index: int, bench: RepairBench) -> Repair:
    """Carry out one run of Passerine, with the failing test where the bench has one.

    The paper finds that runs with and without one repair different bugs.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    site = bench.site
    trajectory = react(bench, index)
    fixes = tuple(
        found_fix(trial, site.failing, site.root, source=FixSource.AGENT)
        for trial in results(site, trajectory)
    )
    changed = any(step.changes for step in trajectory.steps)
    note = "the changed code does not pass the tests" if changed else "the files were not changed"
    return Repair(
        issue=site.issue.id,
        strategy="passerine",
        index=index,
        fixes=fixes,
        brt=bench.brt.test.name if bench.brt else "",
        notes=() if fixes else (note,),
        trajectory=trajectory,
    )


BUILT_IN: Mapping[str, RepairStrategy] = {
    "repairagent": RepairStrategy(attempt=run_repairagent),
    "passerine": RepairStrategy(attempt=run_passerine, runs=20, alternates=True),
}


def _from_diff(
    site: Site, diff: str, source: FixSource, steps: tuple[Step, ...]
) -> FoundFix | None:
    """Return the fix that a step kept as a diff; None when the tree is another one by now."""
    try:
        applied = apply_patch(Patch(id="", name="fix.diff", text=diff), site.root)
    except PatchProblem:
        return None
    trial = site.trials.run(applied.changes)
    known = recall(steps).hypotheses
    return found_fix(
        trial, site.failing, site.root, source=source, hypothesis=known[-1].text if known else ""
    )


def _failed(tried: int) -> str:
    if not tried:
        return "no fix was tried"
    return f"{tried} fix{'es' if tried > 1 else ''} tried, none passes the tests"
