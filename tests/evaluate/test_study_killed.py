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

pytestmark = pytest.mark.slow

OPTIONS = ("--brt-evaluate=bugs", "--brt-guard=no", "--brt-sandbox=process")


@pytest.fixture
def bugs(tmp_path: Path) -> Path:
    """Return a folder in which a study of three good bugs and a bad one can be made."""
    folder = make_bugs(tmp_path)
    for name in ("clamp-2", "clamp-3"):
        shutil.copytree(folder / "clamp", folder / name)
    return tmp_path


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", *OPTIONS, *options]
    # A group of its own: no process of an earlier study holds the pipes of the next.
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def run(folder: Path, *options: str) -> tuple[StudyResult, str]:
    process = start(folder, *options)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 1, out.decode()  # one bug cannot be set up
    name = next((o.partition("=")[2] for o in options if "results" in o), "brt-results/bugs")
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
    bugs: Path, cluster: tuple[str, int]
) -> None:
    address, worker = cluster
    alone, _ = run(bugs, "--brt-results=alone")
    process = start(bugs, "--brt-results=many", f"--brt-executor=dask:{address}")
    wait_for_lines(bugs / "many", 1)
    os.kill(worker, signal.SIGKILL)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 1, out.decode()
    many = read_study(bugs / "many")
    assert tables(many) == tables(alone)
    assert len(many.ranked) == 3
    # The workers wrote journals of their own, beside that of the one who asked.
    assert len(list((bugs / "many").glob("journal-*.jsonl"))) >= 2


def test_a_killed_study_goes_on_where_it_was(bugs: Path) -> None:
    process = start(bugs, "-n", "1")
    wait_for_lines(bugs / "brt-results/bugs", 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = sum(
        path.read_bytes().count(b"\n")
        for path in (bugs / "brt-results/bugs").glob("journal-*.jsonl")
    )
    resumed, out = run(bugs)
    assert f"{done} results taken from an earlier run" in out
    whole, _ = run(bugs, "--brt-results=whole")
    assert tables(resumed) == tables(whole)
    assert replace(resumed, reproduced=(), ranked=()) == replace(whole, reproduced=(), ranked=())


def test_workers_repair_in_the_words_of_the_user(bugs: Path, cluster: tuple[str, int]) -> None:
    address, _ = cluster
    (bugs / "replies.txt").write_text(AGENT.replace("tests fail:", "In our own words"), "utf-8")
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
    )
    alone, _ = run(bugs, "--brt-results=alone", *options)
    many, out = run(bugs, "--brt-results=many", f"--brt-executor=dask:{address}", *options)
    assert "results taken" not in out
    assert tables(many) == tables(alone)
    assert [[run.is_right for run in bug.runs] for bug in many.repaired if not bug.problem] == [
        [True, False]
    ] * 3
