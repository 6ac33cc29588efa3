"""Jobs of a study on other processes or machines: each travels as JSON, and so does its result."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import BrtError, SubjectProblem, UsageProblem
from pytest_brt.evaluate.job import Job, Kit, prompts_of
from pytest_brt.evaluate.record import KINDS, Settings, Studied
from pytest_brt.evaluate.study import Ledger, carry_out, names_of, setting_of
from pytest_brt.execute.remote import Cluster
from pytest_brt.model.base import Settings as ModelSettings
from pytest_brt.model.opening import open_models
from pytest_brt.reproduce.strategy import STRATEGIES, Strategy


def check_strategies(chosen: Mapping[str, Strategy]) -> None:
    """Raise UsageProblem for a strategy that the workers cannot know."""
    for name in chosen:
        if name not in STRATEGIES:
            raise UsageProblem(
                f"--brt-executor: workers know the built-in strategies only, not {name!r}"
            )


class Remote:
    """Carries out jobs where a cluster takes them."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster = cluster
        self._folder = str(folder.resolve())

    def __call__(self, job: Job) -> Studied:
        """Do a job on a worker; when that dies, on another, or once it is back."""
        error: Exception | None = None
        for _ in range(3):
            try:
                future = self._cluster.executor.submit(run_job, to_json(job), self._folder)
                return from_json(future.result(), KINDS[job.stage])
            except BrtError:
                raise
            except Exception as dead:  # whatever the executor raises for a worker that is gone
                error = dead
        raise SubjectProblem(f"the workers that were to do it died: {type(error).__name__}")


# -- on the worker ------------------------------------------------------------------------


def run_job(text: str, folder: str) -> str:
    """Do a job (JSON) on this machine and return its result as JSON.

    Where `folder`, that of the study's results, is on this machine's disk too, what is finished
    is kept there at once: it is not lost when the one who asked is.
    """
    job = from_json(text, Job)
    result = carry_out(job, _kit(to_json(job.settings)))
    if not result.problem and Path(folder).is_dir():
        _ledger(folder, setting_of(job.settings)).put(result, *names_of(job))
    return to_json(result)


@cache
def _ledger(folder: str, setting: str) -> Ledger:
    return Ledger(Path(folder), setting)


@cache
def _kit(text: str) -> Kit:
    """Return what this worker process has at hand; its model is loaded once."""
    settings = from_json(text, Settings)
    # A machine may run as many workers as it has cores.
    given = ModelSettings(context=settings.context, threads=1)
    model, editor = open_models(settings.model, settings.edit_model, given)
    return Kit(
        strategies=STRATEGIES,
        model=model,
        editor=None if editor is model else editor,
        prompts=prompts_of(settings.prompts),
    )
