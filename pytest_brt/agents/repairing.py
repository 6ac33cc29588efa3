"""One run of an agent that repairs: from its first messages to patches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_brt.agents.loop import Agent, run_agent
from pytest_brt.agents.repair import RepairWork
from pytest_brt.agents.shown import numbered
from pytest_brt.agents.specs import repair_values
from pytest_brt.agents.trials import Trial
from pytest_brt.types import Ending, FileChange, FixSource, FoundFix, Repair, Trajectory

#: Places whose code the first messages show, and lines of each.
_SHOWN, _LINES = 2, 60
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
    done = Repair(issue=env.issue.id, strategy=agent.name, index=number, fixes=())
    if agent.states and not env.failing:
        return replace(done, notes=(_NO_TEST,))
    if number and not agent.temperature:
        agent = replace(agent, temperature=0.6)
    shown = env.given or (None if agent.is_given or not env.failing else env.failing[0])
    if env.given is not None and env.given.test.source is not None:
        env.changed[env.given.test.path] = env.given.test.source.encode()
    code = [
        (one.path, numbered(env.lines(one.path), one.line, min(one.end_line, one.line + _LINES)))
        for one in env.places[:_SHOWN]
    ]
    values = {**repair_values(env, env.model.context), "files": code}
    trajectory = run_agent(agent, env, agent.opening(values))
    fixes: dict[str, FoundFix] = {}
    for found in (*env.found, *((one, FixSource.AGENT, "") for one in _trees(env, trajectory))):
        fix = env.trials.found_fix(*found)
        fixes.setdefault(fix.key, fix)
    return replace(
        done,
        fixes=tuple(sorted(fixes.values(), key=lambda fix: fix.broken)),
        brt=shown.test.name if shown is not None else "",
        notes=() if fixes else (_why_none(trajectory),),
        trajectory=trajectory,
    )


def _trees(env: RepairWork, trajectory: Trajectory) -> Iterator[Trial]:
    """Yield the last tree of a run that is worth a look: one that stands, or passes the bug tests.

    A model that has repaired a bug may go on and break it again, so what the files were in between
    is tried too.
    """
    given = env.given.test.path if env.given is not None else ""
    files: dict[str, FileChange] = {}
    trees: list[tuple[FileChange, ...]] = []
    for step in trajectory.steps:
        files |= {change.path: change for change in step.changes if change.path != given}
        if step.changes:
            every = files.values()
            trees.append(tuple(one for one in every if one.content != env.on_disk(one.path)))
    passing: list[Trial] = []
    for changes in reversed(list(filter(None, trees))):
        (trial,) = env.trials.run(changes)
        if trial.stands:
            yield trial
            return
        passing += [trial] if trial.passes else []
    yield from passing[:1]


def _why_none(trajectory: Trajectory) -> str:
    """Return why a dialogue gave no fix."""
    if trajectory.ending in (Ending.TOKENS, Ending.TIME, Ending.ERROR):
        return trajectory.reason
    tried = sum(bool(step.fixes or step.changes) for step in trajectory.steps)
    if not tried:
        return "no fix was tried"
    return f"{tried} fix{'es' if tried > 1 else ''} tried, none passes the tests"
