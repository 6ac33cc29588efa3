"""Rows on a cluster: the same results, with and without a shared disk, with a worker lost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Engine, Limits, Row, RowResult, TestTarget
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.layout import tree_hash
from pytest_brt.execute.remote import (
    NO_TREE,
    Cluster,
    RemoteEngine,
    Shipment,
    _archive,
    open_cluster,
    run_shipment,
)
from pytest_brt.execute.subject import find_subject
from pytest_brt.render.causes import run_words
from pytest_brt.types import FileChange, Verdict
from tests.support.interval import SOURCE

TEST = "from interval import clamp\n\n\ndef test_it():\n    assert clamp(5, 0, 10) == 5\n"
ROW = Row(targets=(TestTarget(id="t", path="test_it.py", source=TEST, node="test_it"),))
FIXED = FileChange(
    path="interval/__init__.py", content=SOURCE.replace("(value, low)", "(value, high)").encode()
)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Engine]:
    package = tmp_path / "project" / "interval"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SOURCE, "utf-8")
    subject = find_subject(tmp_path / "project", python=sys.executable, env={})
    engine = open_engine(subject, sandbox="process", limits=Limits())
    yield engine
    engine.close()


def shipment(engine: Engine) -> Shipment:
    tree = tree_hash(Path(engine.subject.root))
    return Shipment(
        subject=engine.subject, limits=Limits(), sandbox="process", net="none", tree=tree, row=ROW
    )


def test_the_tree_travels_only_when_it_is_missing(local: Engine) -> None:
    sent = shipment(local)
    near = from_json(run_shipment(to_json(sent), None), RowResult)
    assert near.runs[0].verdict is Verdict.FAIL
    away = replace(sent, subject=replace(sent.subject, root="/nonexistent/project"))
    assert run_shipment(to_json(away), None) == NO_TREE
    archive = _archive(Path(local.subject.root))
    far = from_json(run_shipment(to_json(away), archive), RowResult)
    assert [(run.verdict, run_words(run)) for run in far.runs] == [
        (run.verdict, run_words(run)) for run in near.runs
    ]
    patched = replace(away, row=replace(ROW, changes=(FIXED,)))
    # The tree has stayed on the worker.
    assert from_json(run_shipment(to_json(patched), None), RowResult).runs[0].verdict == "PASS"


def test_another_tree_under_the_same_path_is_not_taken(local: Engine) -> None:
    other = replace(shipment(local), tree="0" * 64)
    assert run_shipment(to_json(other), None) == NO_TREE


class Dying(ThreadPoolExecutor):
    """An executor that loses its worker the first times it is asked."""

    def __init__(self, deaths: int) -> None:
        super().__init__(1)
        self.deaths = deaths

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.deaths:
            self.deaths -= 1
            future: Future[Any] = Future()
            future.set_exception(BrokenProcessPool("a worker died"))
            return future
        return super().submit(function, *args, **kwargs)


def remote(local: Engine, executor: Executor) -> RemoteEngine:
    cluster = Cluster(executor=executor, close=executor.shutdown)
    return RemoteEngine(local, cluster, sandbox="process", net="none", limits=Limits())


def test_a_row_whose_worker_dies_is_tried_once_more(local: Engine) -> None:
    once = remote(local, Dying(1)).run(ROW)
    assert once.runs[0].verdict is Verdict.FAIL
    assert once.notes[0] == "worker died, tried again (BrokenProcessPool)"
    twice = remote(local, Dying(2)).run(ROW)
    assert twice.runs[0].verdict is Verdict.INVALID
    assert run_words(twice.runs[0]) == "the workers that were to run it died, twice"


@pytest.mark.parametrize("spec", ["dask", "dask:", "ray:x", "threads:3"])
def test_an_executor_that_is_none(spec: str) -> None:
    with pytest.raises(UsageProblem, match="expected threads or dask:ADDRESS"):
        open_cluster(spec)


@pytest.mark.slow
def test_nobody_there(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess(
        "--brt-issue=clamp.md", "--brt-executor=dask:tcp://127.0.0.1:9"
    )
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--brt-executor: nobody answers at 'tcp://127.0.0.1:9'*"])
