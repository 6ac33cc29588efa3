"""Patches on the workers of a Dask cluster: each runs whole patches.

Workers find the project and its interpreter at the same paths, and have a sandbox of their own.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.guard import Guard, Selection
from pytest_brt.rank.evaluate import evaluate
from pytest_brt.rank.guarding import Guarding
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.sandbox.limits import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import JudgedTest, Patch, PatchResult
from pytest_brt.types.subject import Subject

_PREFIX = "dask:"
#: Seconds within which a scheduler must answer.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchTask:
    """A patch, and all that a worker needs to know to run tests on it."""

    patch: Patch
    issue: str
    tests: tuple[JudgedTest, ...]
    #: Existing tests; None for no existing tests.
    selection: Selection | None
    subject: Subject
    sandbox: str
    net: str
    show: tuple[str, ...]
    limits: Limits


def run_task(task: PatchTask) -> PatchResult:
    """Run the tests of a task on its patch; called on a worker.

    Raises:
        BrtError: the worker has no such project, interpreter or sandbox.
    """
    if not Path(task.subject.root).is_dir():
        raise UsageProblem(f"--brt-executor: a worker has no folder {task.subject.root!r}")
    sandbox = open_sandbox(task.sandbox, net=task.net, shown=task.show)
    with closing(Runner(task.subject, sandbox, limits=task.limits)) as engine:
        guarding = None
        if task.selection is not None:
            guarding = Guarding(guard=Guard(engine), patches=(), chosen=task.selection)
        return evaluate(task.patch, task.issue, task.tests, engine, guarding=guarding)


class Workers:
    """The workers of a cluster."""

    def __init__(self, named: str) -> None:
        """Connect to the scheduler that `named` is the address of, as in "dask:tcp://host:8786".

        Raises:
            UsageProblem: Dask is not installed, or no scheduler answers.
        """
        if not named.startswith(_PREFIX):
            raise UsageProblem(f"--brt-executor: expected dask:ADDRESS, got {named!r}")
        try:
            distributed = import_module("distributed")
        except ImportError as error:
            raise UsageProblem(
                "--brt-executor: Dask is not installed (pip install 'pytest-brt[dask]')"
            ) from error
        try:
            self._client = distributed.Client(named.removeprefix(_PREFIX), timeout=_PATIENCE)
        except (OSError, ValueError) as error:
            raise UsageProblem(f"--brt-executor: no scheduler at {named!r}: {error}") from error
        self._pool = self._client.get_executor(pure=False)

    @property
    def threads(self) -> int:
        """How many patches they run at a time."""
        return sum(self._client.nthreads().values()) or 1

    def run(self, task: PatchTask) -> PatchResult:
        """Have a worker run a task, and wait for it."""
        result: PatchResult = self._pool.submit(run_task, task).result()
        return result

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()
