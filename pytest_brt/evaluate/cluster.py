"""Other machines that take over parts of a study, through Dask's `concurrent.futures.Executor`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

from pytest_brt.errors import UsageProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A way to other processes, and how to leave it."""

    executor: Executor
    close: Callable[[], object]


def open_cluster(spec: str) -> Cluster:
    """Return the cluster that `spec` names, as in "dask:tcp://10.0.0.5:8786".

    Raises:
        UsageProblem: the kind is not known, its package is missing, or nobody answers there.
    """
    kind, _, address = spec.partition(":")
    if kind != "dask" or not address:
        raise UsageProblem(f"--brt-executor: expected threads or dask:ADDRESS, got {spec!r}")
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageProblem(
            f"--brt-executor: {spec!r} needs a package that is missing: {error.name} "
            "(pip install 'pytest-brt[dask]')"
        ) from None
    try:
        client = Client(address, timeout=10)  # type: ignore[no-untyped-call]  # dask has no types
        executor: Executor = client.get_executor(pure=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise UsageProblem(
            f"--brt-executor: nobody answers at {address!r}: {error} (is the scheduler running?)"
        ) from None
    return Cluster(executor=executor, close=client.close)
