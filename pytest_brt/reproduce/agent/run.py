"""One run of an agent that writes tests, from its first messages to judged tests."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.agent.loop import Session, run_agent
from pytest_brt.code.index import Index
from pytest_brt.model.base import Sampling
from pytest_brt.oracle.judge import run_tests
from pytest_brt.reproduce.agent.task import Found, TestTask, all_tests, versions
from pytest_brt.reproduce.agent.writers import BrtAgent, FreeAgent, TestWriter
from pytest_brt.reproduce.asking import seed_of
from pytest_brt.reproduce.model_tests.confidence import judge_written
from pytest_brt.reproduce.model_tests.reduce import reduce_test
from pytest_brt.reproduce.prompting.context import gather_hints
from pytest_brt.reproduce.select import select
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Attempt, CandidateTest, Issue, JudgedTest, Trajectory
from pytest_brt.types.attempt import DialogueEnded

#: Steps of one run, and how replies are drawn (paper 001, 5.1.2).
STEPS, TEMPERATURE, TOP_P = 25, 0.2, 0.95
#: Tokens of a reply: a thought, an action, its arguments; and of one with a test in it.
_HEADER, _WITH_CODE = 400, 900


def agent(issue: Issue, index: int, bench: Workbench, project: Index) -> Attempt:
    """Make the tests of run number `index` of the paper's agent; nothing is run beforehand.

    Raises:
        ModelProblem: the model cannot be asked even once.
        SubjectProblem: the subject's interpreter cannot be started.
    """
    hints = gather_hints(issue, project, buggy=bench.buggy, host=bench.host)
    task = TestTask(issue=issue, bench=bench, index=project, hints=hints, strategy="agent")
    writer = BrtAgent(task)
    trajectory = run_agent(writer, session_of(task, index, top_k=0, longest=_HEADER))
    tests = _judged(task, all_tests(trajectory.steps))
    engine, repeat = bench.engine, bench.repeat
    small = [reduce_test(judged, engine, repeat, task.facts) for judged in tests]
    return _attempt(task, index, writer, trajectory, small)


def free_agent(issue: Issue, index: int, bench: Workbench, project: Index, found: Found) -> Attempt:
    """Make the tests of run number `index` of `auto`'s agent, which knows what was `found` before.

    Tests that the agent wrote over count too, and what tests do not need is cut later.

    Raises:
        ModelProblem: the model cannot be asked even once.
        SubjectProblem: the subject's interpreter cannot be started.
    """
    task = TestTask(
        issue=issue,
        bench=bench,
        index=project,
        hints=found.hints,
        strategy="auto-agent",
        found=found,
    )
    writer = FreeAgent(task)
    trajectory = run_agent(writer, session_of(task, index, top_k=40, longest=_WITH_CODE))
    return _attempt(task, index, writer, trajectory, _judged(task, versions(trajectory.steps)))


def session_of(task: TestTask, index: int, *, top_k: int, longest: int) -> Session:
    """Return what run number `index` has at hand; a reply has at most `longest` tokens."""
    bench = task.bench
    return Session(
        model=bench.model,
        editor=bench.editor or bench.model,
        tree=task.tree,
        log=bench.log(task.issue, f"{task.strategy}-{index:02}"),
        sampling=Sampling(
            temperature=TEMPERATURE,
            top_p=TOP_P,
            top_k=top_k,
            seed=seed_of(task.issue.id, task.strategy, index, bench.seed),
            max_tokens=longest,
        ),
        max_steps=bench.steps or STEPS,
        purpose="agent",
        deadline=bench.deadline,
        say=bench.say,
    )


def _judged(task: TestTask, tests: Sequence[CandidateTest]) -> list[JudgedTest]:
    """Judge what an agent wrote, whether it finished or its steps ran out (requirement 40)."""
    if not tests:
        return []
    runs = run_tests(tests, task.bench.engine, task.bench.repeat)
    return [judge_written(test, runs[test.id], task.facts) for test in tests]


def _attempt(
    task: TestTask,
    index: int,
    writer: TestWriter,
    trajectory: Trajectory,
    judged: Sequence[JudgedTest],
) -> Attempt:
    return Attempt(
        issue=task.issue.id,
        strategy=task.strategy,
        index=index,
        # What is kept is counted per issue, and ranking patches takes every candidate.
        tests=select(judged),
        notes=(*writer.shortened, ended_note(trajectory)),
        trajectories=(trajectory,),
    )


def ended_note(trajectory: Trajectory) -> DialogueEnded:
    """Return how a dialogue went."""
    return DialogueEnded(
        ending=trajectory.ending,
        steps=len(trajectory.steps),
        said=trajectory.reason,
        wrote=any(step.changes for step in trajectory.steps),
    )
