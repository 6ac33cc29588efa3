"""The work of a study: one bug, one stage, on whichever machine it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import BrtError
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.job import Job, Kit
from pytest_brt.evaluate.ranking import rank
from pytest_brt.evaluate.record import KINDS, Reproduced, Stage, Studied
from pytest_brt.evaluate.repairs import repair
from pytest_brt.evaluate.reproducing import reproduce
from pytest_brt.execute.scratch import HeldFolder

_WORK: Mapping[Stage, Callable[[Job, Kit, Path], Studied]] = {
    Stage.REPRODUCE: reproduce,
    Stage.RANK: rank,
    Stage.REPAIR: repair,
}


def carry_out(job: Job, kit: Kit) -> Studied:
    """Do a job; what the user can understand and act on becomes the result's problem."""
    try:
        with HeldFolder("pytest-brt-bug-") as scratch:
            return _WORK[job.stage](job, kit, scratch)
    except BrtError as error:
        return failed(job.stage, job.instance, str(error))


def failed(stage: Stage, instance: Instance, problem: str) -> Studied:
    """Return the result of a job that could not be done."""
    return KINDS[stage](instance=instance.id, repo=instance.repo, problem=problem)


def light(result: Studied) -> Studied:
    """Return a result without what only the next stage needs."""
    return replace(result, judged=()) if isinstance(result, Reproduced) else result
