"""The repairs of a report: what they share, made once, and each run of one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from pytest_brt.agents.loop import Agent, run_agent
from pytest_brt.agents.specs import repair_values
from pytest_brt.agents.trials import RepairWork, Trial
from pytest_brt.errors import OutOfTime
from pytest_brt.guard import Guard
from pytest_brt.model.request import Usage
from pytest_brt.pipeline import Job, Plan
from pytest_brt.project.index import Index
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.types import (
    FixSource,
    Issue,
    JudgedTest,
    Place,
    Repair,
)

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
        bench = self.bench
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
            engine=bench.engine,
            failing=self.failing,
            given=given,
            guard=self.guard,
            is_guarded=self.plan.guard != 0,
            jobs=self.plan.jobs,
            places=self.places,
            is_place_given=bool(self.plan.places),
            ends_early=agent.ends_early,
        )


def _is_shown(trial: Trial) -> bool:
    """Whether a person is shown a fix: one that the agent wrote itself may break other tests."""
    is_own = trial.passes and bool(trial.fix.passed) and trial.fix.source is FixSource.AGENT
    return trial.stands or is_own
