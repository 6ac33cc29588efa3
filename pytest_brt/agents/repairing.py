"""One run of an agent that repairs: from its first messages to patches."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.agents.loop import Agent, run_agent
from pytest_brt.agents.specs import repair_values
from pytest_brt.agents.trials import RepairWork
from pytest_brt.types import FixSource, Repair

_NO_TEST = (
    "no test fails because of the bug, so no fix can be judged (give one with --brt-tests PATH, or "
    "take --brt-strategy auto)"
)


def run_repair(agent: Agent, number: int, env: RepairWork) -> Repair:
    """Carry out one run of a repair; runs after the first are drawn more freely.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    failing, given = env.failing, env.given
    done = Repair(issue=env.issue.id, strategy=agent.name, index=number, fixes=())
    if agent.states and not failing:
        return replace(done, notes=(_NO_TEST,))
    if number and not agent.temperature:
        agent = replace(agent, temperature=0.6)
    if given is not None and given.test.source is not None:
        env.changed[given.test.path] = given.test.source.encode()
    trajectory = run_agent(agent, env, agent.opening(repair_values(env, env.model.context)))
    if env.changes:
        env.try_fixes([env.changes])
    fixes = [
        one.fix
        for one in env.tried.values()
        if one.stands or (one.fix.passed and one.passes and one.fix.source is FixSource.AGENT)
    ]
    tried = "no fix that was tried passes the tests" if env.tried else "no fix was tried"
    shown = [given] if given is not None else failing[: not agent.is_given]
    return replace(
        done,
        fixes=tuple(sorted(fixes, key=lambda fix: fix.broken)),
        brt=shown[0].test.name if shown else "",
        notes=() if fixes else (trajectory.reason or tried,),
        trajectory=trajectory,
    )
