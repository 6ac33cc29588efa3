"""A study: each bug's stages as memoised futures, on threads or on a cluster.

Finished work is kept in the folder of its results, a journal per process, so that no two processes
write to the same file; on reading all of them are one. The same study asked for again is read.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

from pytest_brt import __version__
from pytest_brt.agent.prompts import Prompts
from pytest_brt.codec import content_id, to_json
from pytest_brt.errors import BrtError, SubjectProblem, UsageProblem
from pytest_brt.evaluate.cluster import Cluster
from pytest_brt.evaluate.dataset import Instance, Prediction
from pytest_brt.evaluate.environments import Environment, environment_of
from pytest_brt.evaluate.job import Job, StudyKit
from pytest_brt.evaluate.ranking import rank
from pytest_brt.evaluate.record import (
    KINDS,
    About,
    Bug,
    Ranked,
    Repaired,
    Reproduced,
    Stage,
    Studied,
    StudyResult,
    StudySettings,
)
from pytest_brt.evaluate.repairs import repair
from pytest_brt.evaluate.reproducing import reproduce
from pytest_brt.evaluate.truth import extent_of
from pytest_brt.model.base import Settings as ModelSettings
from pytest_brt.model.opening import open_models
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.reproduce.strategy import Strategy
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.sandbox.workspace import HeldFolder
from pytest_brt.store import Journal
from pytest_brt.types import Attempt

#: What of the true fix is given away to repairs alone.
_TO_REPAIRS = ("place", "tests", "plausible-tests")
#: Does a job, here or on another machine.
Carry = Callable[[Job], Studied]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPlan:
    """What is to be studied."""

    #: Name of the data set.
    dataset: str
    instances: tuple[Instance, ...]
    environments: Mapping[str, Environment]
    predictions: Mapping[str, tuple[Prediction, ...]]
    repos: Path | None
    settings: StudySettings
    #: Those asked for; the first one is always done.
    asked: tuple[Stage, ...] = (Stage.REPRODUCE, Stage.RANK)

    def pool(self, instance: Instance) -> tuple[Prediction, ...]:
        """Return the candidate patches for a bug: those of other systems, and its own."""
        return (*self.predictions.get(instance.id, ()), *instance.candidates)

    def stages(self, instance: Instance) -> tuple[Stage, ...]:
        """Return what is done with a bug: patches are ranked where there are any."""
        idle = () if self.pool(instance) else (Stage.RANK,)
        done = {Stage.REPRODUCE, *self.asked}.difference(idle)
        return tuple(stage for stage in Stage if stage in done)


def setting_of(settings: StudySettings) -> str:
    """Return a name for all that results of a study depend on besides its bugs.

    How bugs are repaired, and what is given away to repairs alone, is in the names of the repairs:
    the other stages stay as they are.
    """
    given = tuple(name for name in settings.given if name not in _TO_REPAIRS)
    return content_id(__version__, to_json(replace(settings, repairs=None, given=given)))


class Study:
    """Carries out a plan, each stage once, when it is first asked for."""

    def __init__(self, plan: StudyPlan, executor: Executor, carry: Carry, ledger: Ledger) -> None:
        self.plan = plan
        self.ledger = ledger
        self._executor = executor
        self._carry = carry
        self._lock = Lock()
        self._futures: dict[tuple[str, Stage], Future[Studied]] = {}

    def stage(self, instance: Instance, stage: Stage) -> Future[Studied]:
        """Return the future of one stage; the others pull the reproduction first."""
        is_first = stage is Stage.REPRODUCE
        first = None if is_first else self.stage(instance, Stage.REPRODUCE)
        key = (instance.id, stage)
        with self._lock:
            if key not in self._futures:
                self._futures[key] = self._executor.submit(self._do, instance, stage, first)
            return self._futures[key]

    def result(self) -> StudyResult:
        """Return all that is known by now; what was never asked for is left out."""
        plan = self.plan
        found = [
            _result_of(future, instance, stage)
            for instance in plan.instances
            for stage in plan.stages(instance)
            if (future := self._futures.get((instance.id, stage))) is not None
            and future.done()
            and not future.cancelled()
        ]
        return StudyResult(
            about=About(version=__version__, dataset=plan.dataset, settings=plan.settings),
            bugs=tuple(
                Bug(id=one.id, repo=one.repo, extent=extent_of(one.patch)) for one in plan.instances
            ),
            reproduced=tuple(one for one in found if isinstance(one, Reproduced)),
            ranked=tuple(one for one in found if isinstance(one, Ranked)),
            repaired=tuple(one for one in found if isinstance(one, Repaired)),
        )

    def _do(self, instance: Instance, stage: Stage, first: Future[Studied] | None) -> Studied:
        made = first.result() if first is not None else None
        plan = self.plan
        job = Job(
            stage=stage,
            instance=instance,
            environment=environment_of(instance, plan.environments),
            settings=plan.settings,
            repos=str(plan.repos.resolve()) if plan.repos else "",
            predictions=plan.pool(instance) if stage is Stage.RANK else (),
        )
        if isinstance(made, Reproduced):
            if made.problem:
                return failed(stage, instance, made.problem)
            job = replace(job, attempts=attempts_for(job, made))
        names = names_of(job)
        kept: Studied | None = self.ledger.get(KINDS[stage], *names)
        if kept is not None:
            return kept
        result = self._carry(job)
        if not result.problem:  # what failed is tried again the next time
            self.ledger.put(result, *names)
        return result


def attempts_for(job: Job, made: Reproduced) -> tuple[Attempt, ...]:
    """Return what a later stage is given of the first.

    Paper 001 repairs with plausible tests alone, which takes the true fix to know.
    """
    if job.stage is not Stage.REPAIR or "plausible-tests" not in job.settings.given:
        return made.attempts
    plausible = {test.id for test in made.tests if test.plausible}
    return tuple(
        replace(attempt, tests=tuple(t for t in attempt.tests if t.test.id in plausible))
        for attempt in made.attempts
    )


def names_of(job: Job) -> tuple[str, ...]:
    """Return what finished work is called by in the ledger."""
    kept = StudySettings(strategies=())
    if job.stage is Stage.REPAIR:
        kept = replace(kept, repairs=job.settings.repairs, given=job.settings.given)
    about = replace(job, settings=kept, repos="")
    return (job.stage, job.instance.id, content_id(to_json(about)))


def _result_of(future: Future[Studied], instance: Instance, stage: Stage) -> Studied:
    error = future.exception()
    if error is not None:
        text = str(error) if isinstance(error, BrtError) else f"{type(error).__name__}: {error}"
        return failed(stage, instance, text)
    result = future.result()
    # What only the next stage needs is not in the result that is written.
    return replace(result, attempts=()) if isinstance(result, Reproduced) else result


_WORK: Mapping[Stage, Callable[[Job, StudyKit, Path], Studied]] = {
    Stage.REPRODUCE: reproduce,
    Stage.RANK: rank,
    Stage.REPAIR: repair,
}


def carry_out(job: Job, kit: StudyKit) -> Studied:
    """Do a job; what the user can understand and act on becomes the result's problem."""
    try:
        with closing(HeldFolder()) as scratch:
            return _WORK[job.stage](job, kit, scratch.path)
    except BrtError as error:
        return failed(job.stage, job.instance, str(error))


def failed(stage: Stage, instance: Instance, problem: str) -> Studied:
    """Return the result of a job that could not be done."""
    return KINDS[stage](instance=instance.id, problem=problem)


T = TypeVar("T")


class Ledger:
    """Reads all journals of a folder, and writes one; safe to use from many threads."""

    def __init__(self, folder: Path, setting: str) -> None:
        """Read what earlier processes finished in `folder`, under the same `setting`."""
        own = folder / f"journal-{content_id(socket.gethostname())}-{os.getpid()}.jsonl"
        others = sorted(path for path in folder.glob("journal-*.jsonl") if path != own)
        self._journals = tuple(Journal(path, setting) for path in (own, *others))

    @property
    def taken(self) -> int:
        """How many results were taken instead of made."""
        return sum(journal.taken for journal in self._journals)

    def get(self, kind: type[T], *names: str) -> T | None:
        """Return finished work; None when it is to be done."""
        found = (journal.get(kind, *names) for journal in self._journals)
        return next((value for value in found if value is not None), None)

    def put(self, value: object, *names: str) -> None:
        """Keep finished work."""
        self._journals[0].put(value, *names)


# -- on other processes or machines ---------------------------------------------------------


def check_strategies(chosen: Mapping[str, Strategy]) -> None:
    """Raise UsageProblem for a strategy that the workers cannot know."""
    for name in chosen:
        if name not in STRATEGIES:
            raise UsageProblem(
                f"--brt-executor: workers know the built-in strategies only, not {name!r}"
            )


def carry_away(job: Job, cluster: Cluster, folder: Path) -> Studied:
    """Do a job on a worker; when that dies, on another, or once it is back."""
    error: Exception | None = None
    for _ in range(3):
        try:
            return cluster.executor.submit(run_job, job, str(folder.resolve())).result()
        except BrtError:
            raise
        except Exception as dead:  # whatever the executor raises for a worker that is gone
            error = dead
    raise SubjectProblem(f"the workers that were to do it died: {type(error).__name__}")


def run_job(job: Job, folder: str) -> Studied:
    """Do a job on this machine, a worker.

    Where `folder`, that of the study's results, is on this machine's disk too, what is finished
    is kept there at once: it is not lost when the one who asked is.
    """
    result = carry_out(job, _kit(job.settings))
    if not result.problem and Path(folder).is_dir():
        _ledger(folder, setting_of(job.settings)).put(result, *names_of(job))
    return result


@cache
def _ledger(folder: str, setting: str) -> Ledger:
    return Ledger(Path(folder), setting)


@cache
def _kit(settings: StudySettings) -> StudyKit:
    """Return what this worker process has at hand; its model is loaded once."""
    # A machine may run as many workers as it has cores.
    given = ModelSettings(context=settings.context, threads=1)
    model, editor = open_models(settings.model, settings.edit_model, given)
    return StudyKit(
        strategies=STRATEGIES,
        open_sandbox=cache(
            partial(open_sandbox, settings.sandbox, net=settings.net, shown=settings.show)
        ),
        model=model,
        editor=None if editor is model else editor,
        prompts=Prompts(),
    )
