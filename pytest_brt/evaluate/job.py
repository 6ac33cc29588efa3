"""A job of a study, and what carrying it out begins with: the bug's tree, an engine, prompts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.agent.prompts import Prompts
from pytest_brt.evaluate.dataset import Instance, Prediction
from pytest_brt.evaluate.environments import Environment, make_tree
from pytest_brt.evaluate.record import Stage, StudySettings
from pytest_brt.evaluate.truth import places_of_fix, test_file_of_fix
from pytest_brt.execute.engine import Engine, Limits, LocalEngine
from pytest_brt.execute.subject import find_subject
from pytest_brt.model.base import Model
from pytest_brt.model.opening import NoModel
from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.run.futures import Run
from pytest_brt.run.plan import Plan
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.types import Attempt, JudgedTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A stage of one bug, and all that a worker must know for it."""

    stage: Stage
    instance: Instance
    environment: Environment
    settings: StudySettings
    #: Folder of clones, or "".
    repos: str = ""
    predictions: tuple[Prediction, ...] = ()
    #: What made the candidates that patches are ranked by, and repairs are given.
    attempts: tuple[Attempt, ...] = ()

    @property
    def tests(self) -> tuple[JudgedTest, ...]:
        """The candidates."""
        return tuple(judged for attempt in self.attempts for judged in attempt.tests)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyKit:
    """What a process has at hand for its jobs."""

    strategies: Mapping[str, Strategy]
    #: Returns the sandbox of all jobs, which is opened for the first: none may be left to do.
    open_sandbox: Callable[[], Sandbox]
    model: Model = field(default_factory=NoModel)
    editor: Model | None = None
    prompts: Prompts = field(default_factory=Prompts)
    say: Callable[[str], None] = lambda _: None


@contextmanager
def open_tree(job: Job, kit: StudyKit, scratch: Path) -> Iterator[tuple[Engine, float]]:
    """Make the bug's tree and an engine on it; say how long that took."""
    started = time.perf_counter()
    repos = Path(job.repos) if job.repos else None
    root = make_tree(job.instance, job.environment, repos, scratch)
    env = dict(job.environment.env)
    if job.environment.pythonpath:
        parts = (str((root / part).resolve()) for part in job.environment.pythonpath)
        env["PYTHONPATH"] = os.pathsep.join(parts)
    settings = job.settings
    sandbox = kit.open_sandbox()
    python = job.environment.python or None
    subject = find_subject(root, python=python, env=env, sandbox=sandbox)
    limits = Limits(seconds=settings.timeout, memory_mb=settings.memory)
    with closing(LocalEngine(subject, sandbox, limits=limits)) as engine:
        yield engine, time.perf_counter() - started


@contextmanager
def open_run(plan: Plan, workbench: Workbench) -> Iterator[Run]:
    """Open a run of `plan`."""
    # One thread: what a bug needs is done in order, and bugs are done side by side.
    with (
        ThreadPoolExecutor(1, thread_name_prefix="brt-bug") as executor,
        closing(Run(plan, workbench, executor)) as run,
    ):
        yield run


def bench_of(job: Job, kit: StudyKit, engine: Engine) -> Workbench:
    """Return what the job's strategies may use.

    Raises:
        SubjectProblem: the files of the true fix are to be given, and it does not apply.
    """
    settings = job.settings
    root = Path(engine.subject.root)
    places = places_of_fix(job.instance, root) if "files" in settings.given else ()
    host = test_file_of_fix(job.instance, root) if "test-file" in settings.given else ""
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
        # All tests are counted; what a user would be shown is said beside.
        agree=0,
        seed=settings.seed,
        buggy=tuple(dict.fromkeys(place.rpartition(":")[0] for place in places)),
        host=host,
    )
