"""Rows on other processes or machines: whatever a `concurrent.futures.Executor` leads to.

A row is sent as JSON with the hash of the tree it is meant for. Where the worker finds that tree
on its own disk, nothing else travels; where it does not, it says so and gets the tree once.
"""

from __future__ import annotations

import atexit
import io
import os
import tarfile
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import BrtError, UsageProblem
from pytest_brt.execute.engine import Engine, Limits, Observation, Program, Row, RowResult
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.layout import files_of, tree_hash
from pytest_brt.execute.scratch import HeldFolder
from pytest_brt.types import TestRun, Verdict
from pytest_brt.types.cause import WorkersDied
from pytest_brt.types.subject import Subject

#: What a worker answers when it does not have the tree.
NO_TREE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """A row, and all that a worker must know to run it."""

    subject: Subject
    limits: Limits
    sandbox: str
    net: str
    #: `tree_hash` of the subject's tree.
    tree: str
    row: Row


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


class RemoteEngine:
    """An engine whose rows run where a cluster takes them; programs run here."""

    def __init__(
        self, local: Engine, cluster: Cluster, *, sandbox: str, net: str, limits: Limits
    ) -> None:
        self.subject = local.subject
        self.level = local.level
        self._local = local
        self._cluster = cluster
        #: What is sent but for the row.
        self._shipment = Shipment(
            subject=self.subject,
            limits=limits,
            sandbox=sandbox,
            net=net,
            tree=tree_hash(Path(local.subject.root)),
            row=Row(targets=()),
        )

    def run(self, row: Row) -> RowResult:
        """Run `row` on a worker; one that dies is tried again once, on another if there is one."""
        text = to_json(replace(self._shipment, row=row))
        notes: tuple[str, ...] = ()
        for _ in range(2):
            try:
                result = from_json(self._send(text), RowResult)
            except BrtError:
                raise
            except Exception as error:  # whatever the executor raises for a worker that is gone
                notes = (f"worker died, tried again ({type(error).__name__})",)
            else:
                return replace(result, notes=(*notes, *result.notes))
        died = WorkersDied()
        lost = (
            TestRun(test=target.id, node=target.node, verdict=Verdict.INVALID, cause=died)
            for target in row.targets
        )
        return RowResult(runs=tuple(lost))

    def _send(self, text: str) -> str:
        answer = self._cluster.executor.submit(run_shipment, text, None).result()
        if answer == NO_TREE:
            archive = _archive(Path(self.subject.root))
            answer = self._cluster.executor.submit(run_shipment, text, archive).result()
        return answer

    def observe(self, program: Program) -> Observation:
        """Run `program` on this machine."""
        return self._local.observe(program)

    def close(self) -> None:
        """End what was started here; the workers belong to whoever runs the cluster."""
        self._cluster.close()
        self._local.close()


def _archive(root: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for name in files_of(root):
            archive.add(root / name, arcname=name, recursive=False)
    return buffer.getvalue()


# -- on the worker ------------------------------------------------------------------------


def run_shipment(text: str, archive: bytes | None) -> str:
    """Run a shipment (JSON) on this machine and return the row's result as JSON.

    Returns `NO_TREE` when the tree is not here and `archive`, a tar of it, is not given.
    """
    shipment = from_json(text, Shipment)
    lock, engines = _kept()
    key = to_json(replace(shipment, row=Row(targets=())))
    with lock:
        if key not in engines:
            root = _root(shipment, archive)
            if root is None:
                return NO_TREE
            engines[key] = open_engine(
                replace(shipment.subject, root=str(root)),
                sandbox=shipment.sandbox,
                net=shipment.net,
                limits=shipment.limits,
                jobs=os.cpu_count() or 1,
            )
            atexit.register(engines[key].close)
    return to_json(engines[key].run(shipment.row))


@cache
def _kept() -> tuple[Lock, dict[str, Engine]]:
    """Return what this worker process keeps between rows: engines, by what they are for."""
    return Lock(), {}


def _root(shipment: Shipment, archive: bytes | None) -> Path | None:
    """Return where the tree of a shipment is on this machine; None when it is not to be had."""
    here = Path(shipment.subject.root)
    if here.is_dir() and tree_hash(here) == shipment.tree:
        return here
    if archive is None:
        return None
    folder = HeldFolder("pytest-brt-tree-")
    atexit.register(folder.close)
    root = folder.path / here.name
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(root, filter="tar")
    return root
