"""What a repair strategy is, what it is given, and the two there are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.dialogue.action import Tool
from pytest_brt.dialogue.trajectory import Log
from pytest_brt.errors import PatchProblem
from pytest_brt.model.base import Model
from pytest_brt.patches import apply_patch
from pytest_brt.repair.memory import patches_in, recall
from pytest_brt.repair.passerine import PasserineSettings, react, results
from pytest_brt.repair.patch import found_fix
from pytest_brt.repair.repairagent import AgentSettings, repair
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Without
from pytest_brt.store import Journal
from pytest_brt.types import FoundFix, JudgedTest, Patch, Repair, Step

#: Seeds of runs of one strategy are so far apart.
_APART = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairBench:
    """All that one run of a repair may use."""

    site: Site
    #: The test that this run is given, of strategies that give one to every other run; None when
    #: it is given none.
    brt: JudgedTest | None
    #: Writes code when another model thinks; None when one does both.
    editor: Model | None = None
    #: Steps that the user wants; None leaves it to the strategy.
    steps: int | None = None
    #: Variants of a fix that fails.
    variants: int = 30
    without: frozenset[Without] = frozenset()
    #: Whether a bug is repaired without any failing test too: existing tests alone judge then.
    blind: bool = False
    seed: int = 0
    #: When all must be over, as `time.monotonic` counts.
    deadline: float = math.inf
    journal: Journal | None = None
    #: Folder of the run's record, for dialogues.
    record: Path | None = None
    #: Further tools of the repair agent, by name.
    tools: Mapping[str, Tool] = field(default_factory=dict)
    say: Callable[[str], None] = lambda _: None


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
    """Carry out one run of RepairAgent; runs after the first are drawn more freely.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    site = bench.site
    if not site.failing and not bench.blind:
        return Repair(
            issue=site.issue.id,
            strategy="repairagent",
            index=index,
            fixes=(),
            notes=(
                "no test fails because of the bug, so no fix can be judged (give one with "
                "--brt-tests PATH, or take --brt-repair-strategy passerine)",
            ),
        )
    settings = AgentSettings(
        steps=bench.steps or 40,
        variants=bench.variants,
        seed=bench.seed + _APART * index,
        temperature=0.0 if index == 0 else 0.6,
        deadline=bench.deadline,
        without=bench.without,
        tools=bench.tools,
    )
    trajectory = repair(site, settings, _log(bench, "repairagent", index), bench.say)
    fixes: dict[str, FoundFix] = {}
    for diff, source, step in patches_in(trajectory.steps):
        fix = _from_diff(site, diff, source, trajectory.steps[: step.number])
        if fix is not None:
            fixes.setdefault(fix.key, fix)
    return Repair(
        issue=site.issue.id,
        strategy="repairagent",
        index=index,
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
    brt = bench.brt
    settings = PasserineSettings(
        steps=bench.steps or 25,
        seed=bench.seed + _APART * index,
        deadline=bench.deadline,
        brt=brt,
        edit_model=bench.editor or site.model,
    )
    trajectory = react(site, settings, _log(bench, "passerine", index), bench.say)
    fixes = [
        found_fix(trial, site.failing, site.root, source="the agent")
        for trial in results(site, trajectory)
    ]
    note = (
        "the files were not changed"
        if not any(s.changes for s in trajectory.steps)
        else ("the changed code does not pass the tests")
    )
    return Repair(
        issue=site.issue.id,
        strategy="passerine",
        index=index,
        fixes=tuple(fixes),
        brt=brt.test.name if brt else "",
        notes=() if fixes else (note,),
        trajectory=trajectory,
    )


BUILT_IN: Mapping[str, RepairStrategy] = {
    "repairagent": RepairStrategy(attempt=run_repairagent),
    "passerine": RepairStrategy(attempt=run_passerine, runs=20, alternates=True),
}


def _from_diff(site: Site, diff: str, source: str, steps: tuple[Step, ...]) -> FoundFix | None:
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


def _log(bench: RepairBench, strategy: str, index: int) -> Log:
    name = f"repair-{strategy}-{index:02}"
    issue = bench.site.issue
    return Log(issue.id, name, title=issue.title, journal=bench.journal, folder=bench.record)


def _failed(tried: int) -> str:
    if not tried:
        return "no fix was tried"
    return f"{tried} fix{'es' if tried > 1 else ''} tried, none passes the tests"
