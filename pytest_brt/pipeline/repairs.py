"""One run of a repair of a report: the dialogue, and the fixes that came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from pytest_brt.agents.loop import run_agent
from pytest_brt.agents.specs import repair_values
from pytest_brt.agents.trials import RepairWork, Trial
from pytest_brt.errors import OutOfTime
from pytest_brt.pipeline import Job, Plan, bench_of
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.types import Repair

#: How freely runs after the first are drawn.
_TEMPERATURE = 0.6
_NO_TEST = (
    "no test fails because of the bug, so no fix can be judged (give one with --brt-tests PATH, or "
    "take --brt-strategy auto)"
)


def repair(
    job: Job, plan: Plan, bench: Workbench, open_work: Callable[..., RepairWork]
) -> Repair:
    """Carry out one run of a strategy; no model is asked after the deadline.

    `open_work` returns what it works with, of what it does not share with other runs.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    begin, agent = time.perf_counter(), plan.agents[job.strategy]
    own = bench_of(job, agent, bench)
    agent = replace(
        agent,
        steps=bench.steps or agent.steps,
        temperature=agent.temperature or (_TEMPERATURE if job.index else 0.0),
    )
    work = open_work(
        model=own.model,
        editor=own.editor,
        seed=seed_of(job.issue, job.strategy, job.index),
        say=own.say,
        ends_early=agent.ends_early,
    )
    # All such runs are given the same test, the likeliest (paper 001, 5.2.2).
    if work.failing and agent.is_given and job.index % 2 == 0:
        work.given = work.failing[0]
        test = work.given.test
        work.changed = {test.path: test.source.encode()} if test.source else {}
    trajectory, reason = None, _NO_TEST
    if work.failing or not agent.states:
        try:
            opening = agent.opening(repair_values(work, work.model.context))
            trajectory = run_agent(agent, work, opening)
            reason = trajectory.reason
        except OutOfTime as over:
            reason = str(over)
    if work.changes:
        work.try_fixes([work.changes])
    fixes = [trial.fix for trial in work.tried.values() if _is_shown(trial)]
    shown = [work.given] if work.given else work.failing[: not agent.is_given]
    tried = "no fix that was tried passes the tests" if work.tried else "no fix was tried"
    return Repair(
        issue=job.issue,
        strategy=job.strategy,
        index=job.index,
        fixes=tuple(sorted(fixes, key=lambda fix: fix.broken)),
        brt=shown[0].test.name if shown else "",
        notes=() if fixes else (reason or tried,),
        trajectory=trajectory,
        cost=own.model.usage.cost,
        seconds=time.perf_counter() - begin,
    )


def _is_shown(trial: Trial) -> bool:
    """Whether a person is shown a fix: one that the agent wrote itself may break other tests."""
    is_own = trial.passes and bool(trial.fix.passed) and not trial.fix.is_variant
    return trial.stands or is_own
