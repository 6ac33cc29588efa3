"""Studies and rankings, undisturbed and with processes killed: the same tables, nothing twice."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_brt.evaluate.forms import as_csv
from pytest_brt.evaluate.rows.study import Rows
from pytest_brt.evaluate.write import read_study, tables_of
from pytest_brt.render.words import count
from tests.evaluate.bugs import NO_MATPLOTLIB, make_bugs
from tests.evaluate.shown import STUDIED
from tests.support.sessions import ONCE

pytestmark = [pytest.mark.slow, pytest.mark.long]

#: In the documentation.
OPTIONS = ("--brt-guard=no",)
CLUSTER = """
import sys, time
from distributed import LocalCluster

if __name__ == "__main__":
    sizes = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    cluster = LocalCluster(**sizes, dashboard_address=None)
    workers = [worker.process.pid for worker in cluster.workers.values()]
    print(cluster.scheduler_address, *workers, flush=True)
    sys.stdin.read()
    cluster.close()
"""


@pytest.fixture(scope="module")
def bugs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which studies of a good bug and a bad one can be made."""
    folder = make_bugs(tmp_path_factory.mktemp("killed"))
    (folder.parent / "missing").mkdir()
    (folder.parent / "missing/matplotlib.py").write_text(NO_MATPLOTLIB, "utf-8")
    return folder.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """A study that nobody disturbs: what it says, and what it finds."""

    out: str
    rows: Rows


def without_matplotlib(folder: Path) -> dict[str, str]:
    """Return an environment in which the matplotlib of `bugs` is found first."""
    paths = filter(None, (str(folder / "missing"), os.environ.get("PYTHONPATH")))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def study(bugs: Path) -> subprocess.CompletedProcess[str]:
    """Carry out the study as it is documented; its results are in ``brt-results/bugs``."""
    return subprocess.run(
        [sys.executable, "-m", "pytest_brt", *STUDIED.split()[1:], *ONCE.split()],
        cwd=bugs,
        env=without_matplotlib(bugs),
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def alone(bugs: Path) -> Alone:
    done = study(bugs)
    assert done.returncode == 1, done.stdout  # one bug cannot be set up
    return Alone(out=done.stdout, rows=read_study(bugs / "brt-results/bugs")[1])


def study_of(folder: Path, results: str) -> str:
    """Return the option for a study of the bugs whose results are kept in a folder of its own."""
    file = folder / f"{results}.toml"
    file.write_text(f'dataset = "bugs"\nresults = "{results}"\n', "utf-8")
    return f"--brt-study={file.name}"


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", *ONCE.split(), *OPTIONS, *options]
    # A group of its own: no process of an earlier study holds the pipes of the next.
    return subprocess.Popen(
        command,
        cwd=folder,
        env=without_matplotlib(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def run(folder: Path, study: str, code: int = 1) -> tuple[Rows, str]:
    process = start(folder, study)
    out, _ = process.communicate()
    assert process.returncode == code, out.decode()  # one bug cannot be set up
    results = Path(study.partition("=")[2]).stem
    return read_study(folder / results)[1], out.decode()


def tables(rows: Rows) -> dict[str, str]:
    """Return the tables without seconds."""
    return {table.name: as_csv(table) for table in tables_of(rows) if table.name != "costs"}


def results_in(folder: Path) -> int:
    """Return how many results are written there; one that is being written is none."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("journal-*.jsonl"))


def wait_for_a_result(study: subprocess.Popen[bytes], folder: Path) -> None:
    while not results_in(folder):
        assert study.poll() is None, "it ended without any"
        time.sleep(0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Where a cluster listens, and the id of one of its processes."""

    address: str
    pid: int


@pytest.fixture(scope="module")
def cluster() -> Iterator[Workers]:
    """Start two worker processes; one that is killed is started again."""
    pytest.importorskip("distributed")
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CLUSTER],
        # One process imports what all workers need.
        env={**os.environ, "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout is not None
    address, pid, _ = process.stdout.readline().split()
    yield Workers(address=address, pid=int(pid))
    process.communicate("")


def test_a_study_of_own_bugs_resumed(bugs: Path, alone: Alone) -> None:
    for line in (
        "_+ lost-reproduce _+",
        "=+ 1 failed, 2 passed in .*=+",
        ".*the true fix does not apply.*",
        "  reproduce +2 +0 +1 +1",
        "  rank +2 +1 +0 +1",
        # Without matplotlib everything but the plots is there.
        r"plots need a package that is missing: matplotlib \(pip install 'pytest-brt\[eval\]'\)",
    ):
        assert re.search(f"^{line}$", alone.out, re.MULTILINE), line
    patches = alone.rows["patches"]
    assert {patch["name"]: patch["right"] for patch in patches} == {
        "a-right.diff": 1,
        "b-literal.diff": 0,
        "c-wrong.diff": 0,
        "d-right-too.diff": 1,
    }
    assert [patch["same_as_fix"] for patch in patches] == [1, 0, 0, 0]
    assert any(test["bug"] == "clamp" and test["plausible"] for test in alone.rows["tests"])
    (problem,) = {row["problem"] for row in alone.rows["bugs"] if row["not_set_up"]}
    assert "does not apply" in str(problem)
    assert {row["bug"] for row in alone.rows["rankings"]} == {"clamp"}
    again = study(bugs)
    assert again.returncode == 1
    assert "2 results taken from an earlier run" in again.stdout
    assert read_study(bugs / "brt-results/bugs")[1] == alone.rows


@pytest.fixture(scope="module")
def many(bugs: Path, cluster: Workers) -> Rows:
    """Return what a study finds on a cluster of which one worker is killed meanwhile."""
    executor = f"--brt-executor=dask:{cluster.address}"
    process = start(bugs, study_of(bugs, "many"), "--brt-sandbox=process", executor)
    wait_for_a_result(process, bugs / "many")
    os.kill(cluster.pid, signal.SIGKILL)
    out, _ = process.communicate()
    assert process.returncode == 1, out.decode()
    return read_study(bugs / "many")[1]


def test_a_cluster_with_a_worker_killed_gives_the_same_tables(
    bugs: Path, alone: Alone, many: Rows
) -> None:
    assert tables(many) == tables(alone.rows)
    assert {row["bug"] for row in many["patches"]} == {"clamp"}
    # The workers wrote journals of their own, beside that of the one who asked.
    assert len(list((bugs / "many").glob("journal-*.jsonl"))) >= 2


def test_a_killed_study_goes_on_where_it_was(bugs: Path, alone: Alone) -> None:
    study = study_of(bugs, "killed")
    process = start(bugs, study, "-n", "1")
    wait_for_a_result(process, bugs / "killed")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = results_in(bugs / "killed")
    resumed, out = run(bugs, study)
    assert f"{count(done, 'result')} taken from an earlier run" in out
    assert tables(resumed) == tables(alone.rows)
