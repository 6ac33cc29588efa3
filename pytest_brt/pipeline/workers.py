"""Patches on the workers of a Dask cluster: each runs whole patches.

Workers find the project and its interpreter at the same paths, and have a sandbox of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.guard import Guard, Selection
from pytest_brt.rank.evaluate import evaluate
from pytest_brt.sandbox.limits import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.types import JudgedTest, Patch, PatchResult, Variation
from pytest_brt.types.subject import Subject

_PREFIX = "dask:"
#: Seconds within which a scheduler must answer.
_PATIENCE = 20.0


def run_there(
    patch: Patch,
    issue: str,
    tests: tuple[JudgedTest, ...],
    selection: Selection | None,
    calls: tuple[Variation, ...],
    subject: Subject,
    shut_in: Callable[[], Sandbox],
    limits: Limits,
) -> PatchResult:
    """Run tests on a patch, and the existing tests of a selection; called on a worker.

    Raises:
        BrtError: the worker has no such project, interpreter or sandbox.
    """
    if not Path(subject.root).is_dir():
        raise UsageProblem(f"--brt-executor: a worker has no folder {subject.root!r}")
    with closing(Runner(subject, shut_in(), limits=limits)) as engine:
        guard = Guard(engine, chosen=selection) if selection else None
        return evaluate(patch, issue, tests, engine, calls=calls, guard=guard)


class Workers:
    """The workers of a cluster."""

    def __init__(self, named: str, shut_in: Callable[[], Sandbox], limits: Limits) -> None:
        """Connect to the scheduler that `named` is the address of, as in "dask:tcp://host:8786".

        On a worker, `shut_in` makes the sandbox.

        Raises:
            UsageProblem: Dask is not installed, or no scheduler answers.
        """
        if not named.startswith(_PREFIX):
            raise UsageProblem(f"--brt-executor: expected dask:ADDRESS, got {named!r}")
        try:
            distributed = import_module("distributed")
            self._client = distributed.Client(named.removeprefix(_PREFIX), timeout=_PATIENCE)
        except (ImportError, OSError, ValueError) as error:
            raise UsageProblem(
                f"--brt-executor: no scheduler at {named!r}: {error} (Dask is installed by pip "
                "install 'pytest-brt[dask]')"
            ) from error
        self._how = shut_in, limits
        #: How many patches they run at a time.
        self.threads = sum(self._client.nthreads().values()) or 1

    def run(
        self,
        selection: Selection | None,
        calls: tuple[Variation, ...],
        patch: Patch,
        issue: str,
        tests: tuple[JudgedTest, ...],
        engine: Runner,
    ) -> PatchResult:
        """Have a worker run tests on a patch, and existing tests, alike for all; wait for it."""
        pool = self._client.get_executor(pure=False)
        given = patch, issue, tests, selection, calls, engine.subject, *self._how
        task = pool.submit(run_there, *given)
        result: PatchResult = task.result()
        return result

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()
