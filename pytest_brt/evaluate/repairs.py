"""The third stage of a study: repairs with and without the failing test (paper 001, RQ2).

A run is given the tests that the first stage made, or nothing but the report and the tree: no
failing test then leads to the place of the bug either, and only existing tests judge. What each
run wrote is judged afterwards, by the hidden tests and against the true fix.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.agent.tree import changed_files
from pytest_brt.errors import ModelProblem
from pytest_brt.evaluate.job import Job, StudyKit, bench_of, open_tree
from pytest_brt.evaluate.record import (
    UNSTARTED,
    FixOutcome,
    Repaired,
    RepairRun,
    RepairSettings,
)
from pytest_brt.evaluate.truth import HiddenTests, fix_changes, patch_of, places_of_fix
from pytest_brt.execute.engine import Engine
from pytest_brt.guard import Guard
from pytest_brt.issue.load import read_issue
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.repair.bench import Without
from pytest_brt.repair.bug import trusted
from pytest_brt.repair.strategy import BUILT_IN, RepairStrategy
from pytest_brt.repair.trial import Trials
from pytest_brt.run.repairs import Repairing, RepairPlan
from pytest_brt.syntax.normal import patch_key
from pytest_brt.types import FileChange, FixSource, JudgedTest, Repair

#: Actions that execute the failing test or show it, whatever they are given.
_USING = frozenset({"extract_tests", "run_tests", "write_fix"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way of repairing bugs."""

    strategy: str
    #: Whether it is given the failing tests.
    given: bool
    #: Parts that are switched off.
    without: tuple[str, ...] = ()


def ways_of(settings: RepairSettings, *, tested: bool) -> tuple[Way, ...]:
    """Return how a bug is repaired; `tested` says whether there is a failing test to give."""
    ways: list[Way] = []
    for strategy in settings.strategies:
        if tested:
            ways.append(Way(strategy=strategy, given=True))
        ways.append(Way(strategy=strategy, given=False))
        if tested and strategy == "repairagent":
            ways += [Way(strategy=strategy, given=True, without=off) for off in settings.without]
    return tuple(ways)


def repair(job: Job, kit: StudyKit, scratch: Path) -> Repaired:
    """Return what the repair strategies make of the job's bug.

    Raises:
        BrtError: the bug cannot be set up, its hidden tests cannot judge, or there is no model.
    """
    settings = job.settings.repairs
    assert settings is not None, "asked for with what to repair by"
    instance = job.instance
    if not job.tests and "plausible-tests" in job.settings.given:
        # Paper 001 asks what a plausible test is worth, on the bugs that have one.
        return Repaired(instance=instance.id)
    with open_tree(job, kit, scratch) as (engine, setup):
        # First, so that no hours are spent on what nobody can judge.
        begun = time.perf_counter()
        hidden = HiddenTests(instance, engine)
        given = hidden.failing(job.settings.repeat) if "tests" in job.settings.given else ()
        judge = _Judge(job, engine, hidden, given or job.tests)
        started = time.perf_counter()
        tried = [
            (way, done)
            for way in ways_of(settings, tested=bool(given or job.tests))
            for done in _repairs(way, job, given, kit, engine, scratch / "code")
        ]
        ended = time.perf_counter()
        runs = tuple(judge.told(way, done) for way, done in tried)
        judging = time.perf_counter() - ended + started - begun
    return Repaired(
        instance=instance.id,
        tests=len(given or job.tests),
        runs=runs,
        seconds=ended - started,
        setup=setup,
        judging=judging,
    )


def _repairs(
    way: Way, job: Job, given: tuple[JudgedTest, ...], kit: StudyKit, engine: Engine, cache: Path
) -> list[Repair]:
    """Carry out all runs of one way; each way has the whole budget for itself.

    The tests are those that are `given`, or else what the first stage made.

    Raises:
        ModelProblem: no run could ask a model; another day it may.
    """
    settings = job.settings
    assert settings.repairs is not None, "asked for with what to repair by"
    issue = read_issue(job.instance.issue, f"{job.instance.id}.md")
    strategy = BUILT_IN[way.strategy]
    told = "place" in settings.given
    plan = RepairPlan(
        issues=frozenset({issue.id}),
        strategies={way.strategy: strategy},
        variants=settings.repairs.variants,
        without=frozenset(Without(name) for name in way.without),
        blind=not way.given,
        guard=settings.guard,
        cache=cache,
        given=places_of_fix(job.instance, Path(engine.subject.root)) if told else (),
    )
    deadline = time.monotonic() + settings.budget
    found: list[Repair] = []
    failed: list[ModelProblem] = []
    with closing(Repairing(plan, bench_of(job, kit, engine), Guard(engine))) as repairing:
        for index in indices(strategy, settings.samples, given=way.given):
            try:
                done = repairing.repair(
                    issue,
                    way.strategy,
                    index,
                    attempts=job.attempts if way.given and not given else (),
                    given=given if way.given else (),
                    deadline=deadline,
                )
            except ModelProblem as problem:  # before its first step: a run all the same
                failed.append(problem)
                done = Repair(
                    issue=issue.id,
                    strategy=way.strategy,
                    index=index,
                    fixes=(),
                    notes=(str(problem),),
                )
            found.append(done)
    if failed and len(failed) == len(found):
        raise failed[0]
    return found


def indices(strategy: RepairStrategy, runs: int | None, *, given: bool) -> range:
    """Return the numbers of the runs of one way.

    A strategy that gives the test to every other run has its own number of runs in both ways
    together; `runs` is for each of them.
    """
    if not strategy.alternates:
        return range(runs or strategy.runs)
    count = runs or (strategy.runs + 1) // 2
    return range(0 if given else 1, 2 * count, 2)


class _Judge:
    """Says what the trees are worth that repairs wrote; each is judged once."""

    def __init__(
        self, job: Job, engine: Engine, hidden: HiddenTests, tests: Sequence[JudgedTest]
    ) -> None:
        self._root = Path(engine.subject.root)
        self._hidden = hidden
        self._tests = trusted(tests)
        self._trials = Trials(engine, self._tests, lambda _: None)
        self._truth = patch_key(fix_changes(job.instance, self._root), self._root)
        self._nothing = patch_key((), self._root)
        self._right: dict[str, bool] = {}

    def told(self, way: Way, done: Repair) -> RepairRun:
        """Return a run with its fixes judged."""
        trajectory = done.trajectory
        steps = trajectory.steps if trajectory else ()
        fixes, right_steps = self._fixes(done)
        return RepairRun(
            strategy=way.strategy,
            without=way.without,
            index=done.index,
            given=way.given,
            brt=done.brt,
            used=is_used(done, self._tests),
            fixes=fixes,
            right_steps=tuple(sorted(right_steps)),
            actions=tuple(step.action for step in steps),
            endings=(str(trajectory.ending) if trajectory and done.cost.tokens else UNSTARTED,),
            seconds=done.seconds,
            tool_seconds=sum(step.seconds for step in steps),
            cost=done.cost,
        )

    def _fixes(self, done: Repair) -> tuple[tuple[FixOutcome, ...], set[int]]:
        """Return the different trees that a run wrote, and the steps that wrote a right one."""
        kept = {fix.key: fix.patch.text for fix in done.fixes}
        found: dict[str, FixOutcome] = {}
        right_steps: set[int] = set()
        for number, source, changes in written(done, self._root):
            key = patch_key(changes, self._root)
            if key == self._nothing:
                continue
            if key not in self._right:
                self._right[key] = self._hidden.are_right(changes)
            if self._right[key]:
                right_steps.add(number)
            if key not in found:
                found[key] = FixOutcome(
                    step=number,
                    source=source,
                    kept=key in kept,
                    own=self._trials.run(changes).passes if self._tests else None,
                    right=self._right[key],
                    same_as_fix=key == self._truth,
                    diff=kept.get(key, ""),
                )
        return tuple(found.values()), right_steps


def written(done: Repair, root: Path) -> Iterator[tuple[int, str, tuple[FileChange, ...]]]:
    """Yield the trees that a run wrote: step, source, and what differs from the buggy tree."""
    steps = done.trajectory.steps if done.trajectory else ()
    for at, step in enumerate(steps, 1):
        if step.changes:
            files = changed_files(steps[:at])
            yield step.number, FixSource.AGENT, tuple(files[path] for path in sorted(files))
    for number, fix in ((step.number, fix) for step in steps for fix in step.fixes):
        try:
            changes = apply_patch(patch_of(fix.diff, "fix.diff"), root).changes
        except PatchProblem:  # no change of the product is left of it
            continue
        yield number, fix.source, changes


def is_used(done: Repair, tests: Sequence[JudgedTest]) -> bool:
    """Say whether a run that was given a failing test executed it, or read its file."""
    if not done.brt or done.trajectory is None:
        return False
    paths = {judged.test.path for judged in tests if judged.test.name == done.brt}
    return any(
        step.is_done and (step.action in _USING or step.argument("path") in paths)
        for step in done.trajectory.steps
    )
