"""Studies whose processes are killed: the same tables, and nothing done twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.evaluate.record import StudyResult
from pytest_brt.evaluate.table import csv_of
from pytest_brt.evaluate.tables import tables_of
from pytest_brt.evaluate.written import read_study
from tests.evaluate.test_repairs import AGENT
from tests.evaluate.test_study import make_bugs
from tests.execute.test_remote import CLUSTER

pytestmark = [pytest.mark.slow, pytest.mark.long]

OPTIONS = ("--brt-evaluate=bugs", "--brt-guard=no", "--brt-sandbox=process")


@pytest.fixture(scope="module")
def bugs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which studies of two good bugs and a bad one can be made."""
    folder = make_bugs(tmp_path_factory.mktemp("killed"))
    shutil.copytree(folder / "clamp", folder / "clamp-2", ignore=lambda *_: ["candidates"])
    (folder.parent / "missing").mkdir()
    text = "raise ImportError('not here', name='matplotlib')"  # drawing takes a second
    (folder.parent / "missing/matplotlib.py").write_text(text, "utf-8")
    return folder.parent


@pytest.fixture(scope="module")
def alone(bugs: Path) -> StudyResult:
    """Return what a study finds that nobody disturbs."""
    return run(bugs, "--brt-results=alone")[0]


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    plugins = ("-p", "no:randomly", "-p", "no:hypothesispytest")
    command = [sys.executable, "-m", "pytest", *plugins, *OPTIONS, *options]
    # A group of its own: no process of an earlier study holds the pipes of the next.
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "missing")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def run(folder: Path, *options: str, code: int = 1) -> tuple[StudyResult, str]:
    process = start(folder, *options)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == code, out.decode()  # one bug cannot be set up
    name = next(option.partition("=")[2] for option in options if "results" in option)
    return read_study(folder / name), out.decode()


def tables(result: StudyResult) -> dict[str, str]:
    """Return the tables without seconds."""
    return {table.name: csv_of(table) for table in tables_of(result) if table.name != "cost"}


def wait_for_lines(folder: Path, count: int) -> None:
    for _ in range(1200):
        files = list(folder.glob("journal-*.jsonl"))
        if sum(path.read_bytes().count(b"\n") for path in files) >= count:
            return
        time.sleep(0.1)
    pytest.fail("nothing was finished")


@pytest.fixture
def cluster() -> Iterator[tuple[str, int]]:
    """Start two worker processes; give the scheduler's address and one worker's id."""
    pytest.importorskip("distributed")
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address, worker, _ = process.stdout.readline().split()
    yield address, int(worker)
    process.communicate("")


def test_a_cluster_with_a_worker_killed_gives_the_same_tables(
    bugs: Path, alone: StudyResult, cluster: tuple[str, int]
) -> None:
    address, worker = cluster
    process = start(bugs, "--brt-results=many", f"--brt-executor=dask:{address}")
    wait_for_lines(bugs / "many", 1)
    os.kill(worker, signal.SIGKILL)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 1, out.decode()
    many = read_study(bugs / "many")
    assert tables(many) == tables(alone)
    assert len(many.ranked) == 1
    # The workers wrote journals of their own, beside that of the one who asked.
    assert len(list((bugs / "many").glob("journal-*.jsonl"))) >= 2


def test_a_killed_study_goes_on_where_it_was(bugs: Path, alone: StudyResult) -> None:
    process = start(bugs, "--brt-results=killed", "-n", "1")
    wait_for_lines(bugs / "killed", 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = sum(path.read_bytes().count(b"\n") for path in (bugs / "killed").glob("journal-*.jsonl"))
    resumed, out = run(bugs, "--brt-results=killed")
    assert f"{done} results taken from an earlier run" in out
    assert tables(resumed) == tables(alone)
    assert replace(resumed, reproduced=(), ranked=()) == replace(alone, reproduced=(), ranked=())


def test_workers_repair_in_the_words_of_the_user(bugs: Path, cluster: tuple[str, int]) -> None:
    address, _ = cluster
    shutil.copytree(bugs / "bugs/clamp-2", bugs / "one/clamp")
    (bugs / "replies.txt").write_text(AGENT.replace("all fail:", "In our own words"), "utf-8")
    (bugs / "words/repair").mkdir(parents=True)
    # Without these words the script does not know the right fix.
    words = "{% if tests %}In our own words{% else %}There is no failing test{% endif %}"
    (bugs / "words/repair/bug.j2").write_text(words, "utf-8")
    options = (
        f"--brt-model=scripted:{bugs / 'replies.txt'}",
        "--brt-strategy=replay",
        "--brt-stages=repair",
        "--brt-prompts=words",
        "--brt-variants=0",
        "--brt-evaluate=one",
        f"--brt-executor=dask:{address}",
    )
    repaired, _ = run(bugs, "--brt-results=repairing", *options, code=0)
    (bug,) = repaired.repaired
    assert [run.is_right for run in bug.runs] == [True, False]
