"""The repairs of a report: what they share, made once, and each run of one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pytest_brt.agents.loop import Agent
from pytest_brt.agents.repairing import run_repair
from pytest_brt.agents.trials import RepairWork
from pytest_brt.errors import OutOfTime
from pytest_brt.guard import Guard, Touched, touched_by
from pytest_brt.localise.ochiai import rank_lines
from pytest_brt.model.request import Usage
from pytest_brt.once import Once
from pytest_brt.pipeline import Job, Plan
from pytest_brt.project.index import Index
from pytest_brt.project.layout import is_test_path
from pytest_brt.rank.guarding import hints_of
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.sandbox.placing import Test
from pytest_brt.types import FileChange, Guarded, Issue, JudgedTest, Place, Repair, Verdict

#: Seconds that existing tests may take on one fix, that the whole suite may take where an agent
#: asks for it, and that watching lines may.
_GUARD, _SUITE, _WATCHING = 3.0, 120.0, 30.0
#: Existing tests that are watched beside the failing ones, places near which they are looked for,
#: and lines that are told.
_NEARBY, _FIRST, _LINES = 60, 6, 8


@dataclass(frozen=True, kw_only=True)
class Repairing:
    """Carries out the repairs of a report; safe to call from many threads."""

    plan: Plan
    issue: Issue
    bench: Workbench
    guard: Guard
    index: Index
    #: Where the bug may be.
    places: tuple[Place, ...]
    #: Tests that fail because of it, the most trusted first.
    failing: tuple[JudgedTest, ...]
    _lines: Once[str, Sequence[str]] = field(default_factory=Once)

    def repair(self, job: Job) -> Repair:
        """Carry out one run of a strategy; no model is asked after the deadline.

        Raises:
            ModelProblem: the model could not be asked even once.
            SubjectProblem: the project's interpreter cannot be started.
        """
        begin, bench = time.perf_counter(), self.bench
        agent = self.plan.agents[job.strategy]
        agent = replace(agent, steps=bench.steps or agent.steps)
        usage = bench.model.usage.part(bench.deadline)
        try:
            done = run_repair(agent, job.index, self._work(job, agent, usage))
        except OutOfTime as over:
            notes = (str(over),)
            done = Repair(issue=job.issue, strategy="", index=job.index, fixes=(), notes=notes)
        seconds = time.perf_counter() - begin
        return replace(done, strategy=job.strategy, cost=usage.cost, seconds=seconds)

    def _work(self, job: Job, agent: Agent, usage: Usage) -> RepairWork:
        """Return what a run of a repair works with."""
        guard, bench = self.guard, self.bench
        is_given = agent.is_given and job.index % 2 == 0
        return RepairWork(
            issue=self.issue,
            index=self.index,
            model=bench.model.paid_by(usage, asks_again=agent.asks_again),
            editor=(bench.editor or bench.model).paid_by(usage, asks_again=agent.asks_again),
            seed=seed_of(job.issue, job.strategy, job.index, bench.seed),
            say=lambda text: bench.say(f"{job.strategy}-{job.index:02}: {text}"),
            engine=bench.engine,
            failing=self.failing,
            # All these runs are given the same test, the likeliest (paper 001, 5.2.2).
            given=next(iter(self.failing), None) if is_given else None,
            check=self._check,
            jobs=self.plan.jobs,
            places=self.places,
            is_place_given=bool(self.plan.places),
            suspect_lines=lambda: self._lines.get("", self._suspect_lines),
            run_suite=lambda: bench.engine.run(
                [Test(id=path, path=path) for path in guard.files.texts], seconds=_SUITE
            ),
            ends_early=agent.ends_early,
        )

    def _check(self, changes: tuple[FileChange, ...]) -> Guarded | None:
        """Run existing tests on a fix; None where none are wanted."""
        if self.plan.guard == 0:
            return None
        touched, hints = touched_by(changes, self.guard.root), hints_of(self.failing)
        return self.guard.check(changes, touched, allowance=_GUARD, hints=hints)

    def _suspect_lines(self) -> Sequence[str]:
        """Return lines by Ochiai's score over failing tests and passing ones near the places."""
        own, first = [Test.of(judged.test) for judged in self.failing], self.places[:_FIRST]
        if not own:
            return ()
        near = self.guard.near(Touched(files=tuple({place.path for place in first})), _NEARBY)
        files = [path for path in sorted(self.index.layout.files) if not is_test_path(path)]
        runs = self.bench.engine.run((*own, *near), watch=tuple(files), seconds=_WATCHING)
        ids = {test.id for test in own}
        failed = [run for run in runs if run.verdict is Verdict.FAIL and run.test in ids]
        lines = rank_lines(failed, [run for run in runs if run.verdict is Verdict.PASS])[:_LINES]
        shown = [f"- {path}:{line} {score:.2f}" for (path, line), score in lines]
        return ["Lines by Ochiai's score, of what failing and passing tests run:", *shown]
