"""The work of a study: one bug, one stage, on whichever machine it is."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_brt.dialogue.prompts import Prompts
from pytest_brt.errors import BrtError
from pytest_brt.evaluate.checkout import make_tree
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.environments import Environment
from pytest_brt.evaluate.orders import RANKERS
from pytest_brt.evaluate.predictions import Prediction
from pytest_brt.evaluate.record import (
    PatchOutcome,
    Ranked,
    RankedBy,
    Reproduced,
    Settings,
    Stage,
    TestOutcome,
    Told,
)
from pytest_brt.evaluate.truth import HiddenTests, fix_changes, is_valid, judge_tests, patch_of
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue.load import read_issue
from pytest_brt.model.base import Model
from pytest_brt.model.opening import NoModel
from pytest_brt.plan import Case, Plan
from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.rank.matrix import run_patch
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.run import Run
from pytest_brt.types import Attempt, JudgedTest, PatchResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A stage of one bug, and all that a worker must know for it."""

    stage: Stage
    instance: Instance
    environment: Environment
    settings: Settings
    #: Folder of clones, or "".
    repos: str = ""
    predictions: tuple[Prediction, ...] = ()
    #: What the patches are ranked by; for that stage only.
    tests: tuple[JudgedTest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What a process has at hand for its jobs."""

    strategies: Mapping[str, Strategy]
    model: Model = field(default_factory=NoModel)
    editor: Model | None = None
    prompts: Prompts = field(default_factory=Prompts)
    say: Callable[[str], None] = lambda _: None


def carry_out(job: Job, kit: Kit) -> Reproduced | Ranked:
    """Do a job; what the user can understand and act on becomes the result's problem."""
    work = _reproduce if job.stage is Stage.REPRODUCE else _rank
    try:
        with tempfile.TemporaryDirectory(prefix="pytest-brt-bug-") as scratch:
            return work(job, kit, Path(scratch))
    except BrtError as error:
        return failed(job.stage, job.instance, str(error))


def failed(stage: Stage, instance: Instance, problem: str) -> Reproduced | Ranked:
    """Return the result of a job that could not be done."""
    kind = Reproduced if stage is Stage.REPRODUCE else Ranked
    return kind(instance=instance.id, repo=instance.repo, problem=problem)


@contextmanager
def _engine(job: Job, scratch: Path) -> Iterator[tuple[Engine, float]]:
    """Make the bug's tree and an engine on it; say how long that took."""
    started = time.perf_counter()
    repos = Path(job.repos) if job.repos else None
    root = make_tree(job.instance, job.environment, repos, scratch)
    env = dict(job.environment.env)
    if job.environment.pythonpath:
        parts = (str((root / part).resolve()) for part in job.environment.pythonpath)
        env["PYTHONPATH"] = os.pathsep.join(parts)
    settings = job.settings
    subject = find_subject(root, python=job.environment.python or None, env=env)
    limits = Limits(seconds=settings.timeout, memory_mb=settings.memory)
    engine = open_engine(subject, sandbox=settings.sandbox, net=settings.net, limits=limits)
    try:
        yield engine, time.perf_counter() - started
    finally:
        engine.close()


@contextmanager
def _run(plan: Plan, workbench: Workbench) -> Iterator[Run]:
    # One thread: what a bug needs is done in order, and bugs are done side by side.
    with ThreadPoolExecutor(1, thread_name_prefix="brt-bug") as executor:
        run = Run(plan, workbench, executor)
        try:
            yield run
        finally:
            run.close()


def _bench(job: Job, kit: Kit, engine: Engine) -> Workbench:
    settings = job.settings
    return Workbench(
        engine=engine,
        repeat=settings.repeat,
        keep=settings.keep,
        model=kit.model,
        editor=kit.editor,
        say=lambda text: kit.say(f"{job.instance.id}: {text}"),
        prompts=kit.prompts,
        samples=settings.samples,
        steps=settings.steps,
        agree=settings.agree,
        seed=settings.seed,
    )


def _reproduce(job: Job, kit: Kit, scratch: Path) -> Reproduced:
    instance, settings = job.instance, job.settings
    case = Case(issue=read_issue(instance.issue, f"{instance.id}.md"))
    plan = Plan(
        cases=(case,),
        strategies={name: _asked(kit.strategies[name], settings) for name in settings.strategies},
        given=None,
        rank=rank_by_epr,
        accept=lambda *_: None,
        budget=settings.budget,
    )
    with _engine(job, scratch) as (engine, setup), _run(plan, _bench(job, kit, engine)) as run:
        fix_changes(instance, Path(engine.subject.root))  # one that does not apply judges nothing
        for future in [run.attempt(key) for key in plan.keys(case)]:
            future.result()  # what broke is told, not passed over
        attempts = run.record().attempts
        started = time.perf_counter()
        tests = _outcomes(attempts, job, engine)
        judging = time.perf_counter() - started
    return Reproduced(
        instance=instance.id,
        repo=instance.repo,
        tests=tests,
        runs=tuple(_told(attempt) for attempt in attempts),
        judged=tuple(judged for attempt in attempts for judged in _candidates(attempt)),
        seconds=sum(attempt.seconds for attempt in attempts),
        setup=setup,
        judging=judging,
    )


def _asked(strategy: Strategy, settings: Settings) -> Strategy:
    if settings.samples is None or strategy.runs == 1:
        return strategy
    return replace(strategy, runs=settings.samples)


def _candidates(attempt: Attempt) -> tuple[JudgedTest, ...]:
    return tuple(judged for judged in attempt.tests if judged.judgement.candidate)


def _outcomes(attempts: tuple[Attempt, ...], job: Job, engine: Engine) -> tuple[TestOutcome, ...]:
    found = [(attempt, judged) for attempt in attempts for judged in _candidates(attempt)]
    runs = judge_tests([judged.test for _, judged in found], job.instance, engine)
    outcomes = [
        TestOutcome(
            strategy=attempt.strategy,
            index=attempt.index,
            name=judged.test.name,
            rule=str(judged.test.oracle.kind),
            confidence=judged.judgement.confidence,
            after=runs[judged.test.id].verdict,
            reaches=runs[judged.test.id].exercised,
            valid=is_valid(judged.test, engine),
        )
        for attempt, judged in found
    ]
    # Within a run they come best first; several runs are merged by confidence.
    often = Counter(attempt.strategy for attempt in attempts)

    def place(one: TestOutcome) -> tuple[str, float]:
        return one.strategy, -one.confidence if often[one.strategy] > 1 else 0.0

    return tuple(sorted(outcomes, key=place))


def _told(attempt: Attempt) -> Told:
    last = attempt.trajectories[-1] if attempt.trajectories else None
    return Told(
        strategy=attempt.strategy,
        index=attempt.index,
        considered=len(attempt.tests),
        candidates=len(_candidates(attempt)),
        actions=tuple(step.action for told in attempt.trajectories for step in told.steps),
        ending=str(last.ending) if last else "",
        seconds=attempt.seconds,
        cost=attempt.cost,
    )


def _rank(job: Job, kit: Kit, scratch: Path) -> Ranked:
    instance, settings = job.instance, job.settings
    pool = job.predictions
    patches = tuple(patch_of(one.text, one.name) for one in pool)
    case = Case(issue=read_issue(instance.issue, f"{instance.id}.md"), patches=patches)
    plan = Plan(
        cases=(case,),
        strategies={},
        given=lambda: job.tests,
        rank=rank_by_epr,
        accept=lambda *_: None,
        guard=settings.guard,
        vary=settings.vary,
    )
    with _engine(job, scratch) as (engine, setup), _run(plan, _bench(job, kit, engine)) as run:
        started = time.perf_counter()
        rows = tuple(future.result() for future in [run.row(case, patch) for patch in patches])
        ranked = time.perf_counter()
        labels = _labels(job, engine)
        fix = run_patch(patch_of(instance.patch, "fix"), case.issue_id, (), engine)
    return Ranked(
        instance=instance.id,
        repo=instance.repo,
        tests=len(job.tests),
        patches=_patches(rows, job, labels, fix.normal),
        orders=tuple(
            RankedBy(
                ranker=name,
                groups=tuple(
                    tuple(row.patch.name for row in group) for group in order(rows, job.tests)
                ),
            )
            for name, order in RANKERS.items()
        ),
        seconds=ranked - started,
        setup=setup,
        judging=time.perf_counter() - ranked,
    )


def _labels(job: Job, engine: Engine) -> dict[str, bool]:
    """Return which patches are right: as their file says, or by the hidden tests."""
    labels = {one.name: one.plausible for one in job.predictions if one.plausible is not None}
    unknown = [one for one in job.predictions if one.plausible is None]
    if unknown:
        hidden = HiddenTests(job.instance, engine)
        for one in unknown:
            labels[one.name] = hidden.is_right(patch_of(one.text, one.name))
    return labels


def _patches(
    rows: tuple[PatchResult, ...], job: Job, labels: Mapping[str, bool], normal: str
) -> tuple[PatchOutcome, ...]:
    plain = {rank.result.patch.name: rank.epr for rank in rank_by_epr(rows, job.tests)}
    scores = {rank.result.patch.name: rank.score for rank in rank_by_weight(rows, job.tests)}
    return tuple(
        PatchOutcome(
            name=one.name,
            system=one.system,
            applies=row.applies,
            right=labels.get(one.name),
            same_as_fix=bool(normal) and row.normal == normal,
            epr=plain.get(one.name),
            score=scores.get(one.name),
        )
        for one, row in zip(job.predictions, rows, strict=True)
    )


def light(result: Reproduced | Ranked) -> Reproduced | Ranked:
    """Return a result without what only the next stage needs."""
    return replace(result, judged=()) if isinstance(result, Reproduced) else result
