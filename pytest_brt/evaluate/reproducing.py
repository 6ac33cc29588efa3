"""The first stage of a study: the strategies on one bug, and their tests on its true fix."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import ModelProblem
from pytest_brt.evaluate.job import Job, StudyKit, bench_of, open_run, open_tree
from pytest_brt.evaluate.record import UNSTARTED, Reproduced, StudiedRun, TestOutcome
from pytest_brt.evaluate.truth import fix_changes, flaw_of, judge_tests
from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.run.futures import Run
from pytest_brt.run.plan import AttemptKey, Case, Plan
from pytest_brt.types import Attempt, JudgedTest, TestRun, Trajectory
from pytest_brt.types.attempt import ModelFailed


def reproduce(job: Job, kit: StudyKit, scratch: Path) -> Reproduced:
    """Return what the strategies make of the job's bug.

    Raises:
        BrtError: the bug cannot be set up, or a strategy cannot work.
    """
    instance, settings = job.instance, job.settings
    case = Case(issue=read_issue(instance.issue, f"{instance.id}.md"))
    plan = Plan(
        cases=(case,),
        strategies={n: kit.strategies[n].sampled(settings.samples) for n in settings.strategies},
        rank=rank_by_epr,
        budget=settings.budget,
    )
    with (
        open_tree(job, kit, scratch) as (engine, setup),
        open_run(plan, bench_of(job, kit, engine)) as run,
    ):
        fix_changes(instance, Path(engine.subject.root))  # one that does not apply judges nothing
        attempts = _attempts(run, plan.keys(case))
        started = time.perf_counter()
        tests = _outcomes(attempts, job, engine)
        judging = time.perf_counter() - started
    return Reproduced(
        instance=instance.id,
        tests=tests,
        runs=tuple(_told(attempt) for attempt in attempts),
        attempts=tuple(map(_for_repairs, attempts)),
        seconds=sum(attempt.seconds for attempt in attempts),
        setup=setup,
        judging=judging,
    )


def _attempts(run: Run, keys: Sequence[AttemptKey]) -> tuple[Attempt, ...]:
    """Return the attempts; one whose model failed before its first step counts as well.

    Raises:
        ModelProblem: no run of a strategy could ask a model; another day it may.
        BrtError: an attempt cannot be made.
    """
    failed: dict[AttemptKey, ModelProblem] = {}
    for key, future in [(key, run.attempt(key)) for key in keys]:
        try:
            future.result()  # what broke is told, not passed over
        except ModelProblem as problem:
            failed[key] = problem
    for key, why in failed.items():
        if all(other in failed for other in keys if other.strategy == key.strategy):
            raise why
    unstarted = [
        Attempt(
            issue=key.issue,
            strategy=key.strategy,
            index=key.index,
            tests=(),
            notes=(ModelFailed(said=str(why)),),
        )
        for key, why in failed.items()
    ]
    return (*run.record().attempts, *unstarted)


def _for_repairs(attempt: Attempt) -> Attempt:
    """Return an attempt with its candidates alone, and of its dialogues what chooses a test."""
    return Attempt(
        issue=attempt.issue,
        strategy=attempt.strategy,
        index=attempt.index,
        tests=tuple(judged for judged in attempt.tests if judged.judgement.candidate),
        trajectories=tuple(
            Trajectory(
                steps=tuple(step for step in told.steps if step.verdict is not None)[-1:],
                ending=told.ending,
            )
            for told in attempt.trajectories
        ),
    )


def _outcomes(attempts: tuple[Attempt, ...], job: Job, engine: Engine) -> tuple[TestOutcome, ...]:
    """Return all tests that were considered: the paper counts every one that fails."""
    found = [(attempt, judged) for attempt in attempts for judged in attempt.tests]
    runs = judge_tests([judged.test for _, judged in found], job.instance, engine)
    outcomes = [
        _outcome(attempt.strategy, attempt.index, judged, runs[judged.test.id], engine)
        for attempt, judged in found
    ]
    # Within a run they come best first; several runs are merged by confidence.
    often = Counter(attempt.strategy for attempt in attempts)

    def place(one: TestOutcome) -> tuple[str, float]:
        return one.strategy, -one.confidence if often[one.strategy] > 1 else 0.0

    return tuple(sorted(outcomes, key=place))


def _outcome(
    strategy: str, index: int, judged: JudgedTest, fixed: TestRun, engine: Engine
) -> TestOutcome:
    judgement = judged.judgement
    outcome = TestOutcome(
        id=judged.test.id,
        strategy=strategy,
        index=index,
        name=judged.test.name,
        rule=str(judged.test.oracle.kind),
        confidence=judgement.confidence,
        before=judgement.verdict,
        after=fixed.verdict,
        candidate=judgement.candidate,
        agree=judgement.agree,
        reaches=fixed.exercised,
    )
    # What nobody would add needs no second look.
    return replace(outcome, flaw=flaw_of(judged.test, engine)) if outcome.plausible else outcome


def _told(attempt: Attempt) -> StudiedRun:
    found: tuple[str, ...] = attempt.endings
    if not found and attempt.trajectories:
        last = attempt.trajectories[-1]
        found = (last.ending if attempt.cost.tokens else UNSTARTED,)
    ended = tuple(map(str, found))
    if not ended and any(isinstance(note, ModelFailed) for note in attempt.notes):
        ended = (UNSTARTED,)
    return StudiedRun(
        strategy=attempt.strategy,
        index=attempt.index,
        actions=tuple(step.action for told in attempt.trajectories for step in told.steps),
        endings=ended,
        seconds=attempt.seconds,
        cost=attempt.cost,
    )
