"""The repairs of a report: what they share, made once, and each run of one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

from pytest_brt.agents.loop import Agent, run_agent
from pytest_brt.agents.specs import repair_values
from pytest_brt.agents.trials import RepairWork, Trial
from pytest_brt.errors import OutOfTime
from pytest_brt.guard import Guard, Touched, touched_by
from pytest_brt.localise.suspects import files_of
from pytest_brt.model.request import Usage
from pytest_brt.pipeline import Job, Plan
from pytest_brt.project.index import Index
from pytest_brt.project.layout import is_test_path
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.sandbox.placing import Test
from pytest_brt.types import (
    FileChange,
    FixSource,
    Guarded,
    Issue,
    JudgedTest,
    Place,
    Repair,
    Verdict,
)

#: Seconds that the whole suite may take where an agent asks for it, and that watching lines may.
_SUITE, _WATCHING = 120.0, 30.0
#: Files of existing tests that are watched beside the failing ones, places near which they are
#: looked for, and lines that are told.
_NEARBY, _FIRST, _LINES = 8, 6, 8
#: How freely runs after the first are drawn.
_TEMPERATURE = 0.6
_NO_TEST = (
    "no test fails because of the bug, so no fix can be judged (give one with --brt-tests PATH, or "
    "take --brt-strategy auto)"
)


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

    def repair(self, job: Job) -> Repair:
        """Carry out one run of a strategy; no model is asked after the deadline.

        Raises:
            ModelProblem: the model could not be asked even once.
            SubjectProblem: the project's interpreter cannot be started.
        """
        begin, bench, agent = time.perf_counter(), self.bench, self.plan.agents[job.strategy]
        agent = replace(
            agent,
            steps=bench.steps or agent.steps,
            temperature=agent.temperature or (_TEMPERATURE if job.index else 0.0),
        )
        usage = bench.model.usage.part(bench.deadline)
        work, trajectory = self._work(job, agent, usage), None
        reason = _NO_TEST if agent.states and not self.failing else ""
        try:
            if not reason:
                opening = agent.opening(repair_values(work, work.model.context))
                trajectory = run_agent(agent, work, opening)
                reason = trajectory.reason
        except OutOfTime as over:
            reason = str(over)
        if work.changes:
            work.try_fixes([work.changes])
        fixes = [trial.fix for trial in work.tried.values() if _is_shown(trial)]
        shown = [work.given] if work.given else self.failing[: not agent.is_given]
        tried = "no fix that was tried passes the tests" if work.tried else "no fix was tried"
        return Repair(
            issue=job.issue,
            strategy=job.strategy,
            index=job.index,
            fixes=tuple(sorted(fixes, key=lambda fix: fix.broken)),
            brt=shown[0].test.name if shown else "",
            notes=() if fixes else (reason or tried,),
            trajectory=trajectory,
            cost=usage.cost,
            seconds=time.perf_counter() - begin,
        )

    def _work(self, job: Job, agent: Agent, usage: Usage) -> RepairWork:
        """Return what a run of a repair works with."""
        engine, bench = self.bench.engine, self.bench
        # All such runs are given the same test, the likeliest (paper 001, 5.2.2).
        is_given = self.failing and agent.is_given and job.index % 2 == 0
        given = self.failing[0] if is_given else None
        source = given.test.source if given else None
        return RepairWork(
            issue=self.issue,
            index=self.index,
            model=bench.model.paid_by(usage, asks_again=agent.asks_again),
            editor=(bench.editor or bench.model).paid_by(usage, asks_again=agent.asks_again),
            seed=seed_of(job.issue, job.strategy, job.index, bench.seed),
            say=lambda text: bench.say(f"{job.strategy}-{job.index:02}: {text}"),
            changed={given.test.path: source.encode()} if given and source else {},
            engine=engine,
            failing=self.failing,
            given=given,
            check=self._check,
            jobs=self.plan.jobs,
            places=self.places,
            is_place_given=bool(self.plan.places),
            suspect_lines=lambda: self._suspect_lines,
            run_suite=lambda: engine.run(_files(self.guard.files.texts), seconds=_SUITE),
            ends_early=agent.ends_early,
        )

    def _check(self, changes: tuple[FileChange, ...]) -> Guarded | None:
        """Run existing tests on a fix; None where none are wanted."""
        if self.plan.guard == 0:
            return None
        return self.guard.check(changes, touched_by(changes, self.guard.root))

    @cached_property
    def _suspect_lines(self) -> list[str]:
        """The lines that failing tests run, by Ochiai's score (Abreu et al. 2006)."""
        near = Touched(files=files_of(self.places[:_FIRST]))
        others = _files(self.guard.files.nearest([near])[:_NEARBY])
        own = [Test.of(judged.test) for judged in self.failing]
        failed, passed = self._count(own, Verdict.FAIL), self._count(others, Verdict.PASS)
        scores = {
            line: count / sqrt(len(own) * (count + passed[line])) for line, count in failed.items()
        }
        best = sorted(scores, key=lambda line: (-scores[line], line))[:_LINES]
        lines = [f"- {path}:{line} {scores[path, line]:.2f}" for path, line in best]
        return ["Lines by Ochiai's score, of what failing and passing tests run:", *lines]

    def _count(self, tests: Sequence[Test], verdict: Verdict) -> Counter[tuple[str, int]]:
        """Count the tests with a verdict that run each line of the product."""
        files = [path for path in sorted(self.index.layout.files) if not is_test_path(path)]
        counts: Counter[tuple[str, int]] = Counter()
        for run in self.bench.engine.run(tests, watch=tuple(files), seconds=_WATCHING):
            for path, mask in run.ran if run.verdict is verdict else ():
                bits = int(mask, 16)
                counts.update((path, n) for n in range(bits.bit_length()) if bits >> n & 1)
        return counts


def _files(paths: Iterable[str]) -> list[Test]:
    return [Test(id=path, path=path) for path in paths]


def _is_shown(trial: Trial) -> bool:
    """Whether a person is shown a fix: one that the agent wrote itself may break other tests."""
    is_own = trial.passes and bool(trial.fix.passed) and trial.fix.source is FixSource.AGENT
    return trial.stands or is_own
