"""A study: each bug's stages as memoised futures, on threads or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from pytest_brt import __version__
from pytest_brt.codec import content_id, to_json
from pytest_brt.errors import BrtError
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.environments import Entry, environment_of
from pytest_brt.evaluate.job import Job
from pytest_brt.evaluate.ledger import Ledger
from pytest_brt.evaluate.predictions import Prediction
from pytest_brt.evaluate.record import (
    KINDS,
    Ranked,
    Repaired,
    Reproduced,
    Settings,
    Stage,
    Studied,
    StudyResult,
)
from pytest_brt.evaluate.truth import extent_of
from pytest_brt.evaluate.work import failed, light

#: Does a job, here or on another machine.
Carry = Callable[[Job], Studied]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPlan:
    """What is to be studied."""

    #: Name of the data set.
    dataset: str
    instances: tuple[Instance, ...]
    environments: Mapping[str, Entry]
    predictions: Mapping[str, tuple[Prediction, ...]]
    repos: Path | None
    settings: Settings
    #: Those asked for; the first one is always done.
    asked: tuple[Stage, ...] = (Stage.REPRODUCE, Stage.RANK)

    def pool(self, instance: Instance) -> tuple[Prediction, ...]:
        """Return the candidate patches for a bug: those of other systems, and its own."""
        own = tuple(
            Prediction(instance=instance.id, name=name, system="", text=text)
            for name, text in instance.candidates
        )
        return (*self.predictions.get(instance.id, ()), *own)

    def stages(self, instance: Instance) -> tuple[Stage, ...]:
        """Return what is done with a bug: patches are ranked where there are any."""
        left_out = {stage for stage in Stage if stage not in self.asked}
        if not self.pool(instance):
            left_out.add(Stage.RANK)
        return tuple(stage for stage in Stage if stage not in left_out - {Stage.REPRODUCE})


def setting_of(settings: Settings) -> str:
    """Return a name for all that results of a study depend on besides its bugs.

    How bugs are repaired is in the names of the repairs alone: the other stages stay as they are.
    """
    return content_id(__version__, to_json(replace(settings, repairs=None)))


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
        found = []
        for instance in self.plan.instances:
            for stage in self.plan.stages(instance):
                future = self._futures.get((instance.id, stage))
                if future is not None and future.done() and not future.cancelled():
                    found.append(_told(future, instance, stage))
        return StudyResult(
            version=__version__,
            dataset=self.plan.dataset,
            settings=self.plan.settings,
            instances=tuple((one.id, one.repo) for one in self.plan.instances),
            extents=tuple(extent_of(one.patch) for one in self.plan.instances),
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
            job = replace(job, tests=made.judged)
        names = names_of(job)
        kept: Studied | None = self.ledger.get(KINDS[stage], *names)
        if kept is not None:
            return kept
        result = self._carry(job)
        if not result.problem:  # what failed is tried again the next time
            self.ledger.put(result, *names)
        return result


def names_of(job: Job) -> tuple[str, ...]:
    """Return what finished work is called by in the ledger."""
    by = job.settings.repairs if job.stage is Stage.REPAIR else None
    about = replace(job, settings=Settings(strategies=(), repairs=by), repos="")
    return (job.stage, job.instance.id, content_id(to_json(about)))


def _told(future: Future[Studied], instance: Instance, stage: Stage) -> Studied:
    error = future.exception()
    if error is not None:
        text = str(error) if isinstance(error, BrtError) else f"{type(error).__name__}: {error}"
        return failed(stage, instance, text)
    return light(future.result())
