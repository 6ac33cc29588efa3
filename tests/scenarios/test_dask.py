"""Patches on two workers of a Dask cluster: the same ranking as on this machine alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.scenarios.project import Make
from tests.scenarios.samples import CLAMP, CLAMP_RIGHT, CLAMP_TEST, FILES

pytest.importorskip("distributed")

#: Prints its address, and ends with its input.
CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.mark.slow
def test_forty_patches_on_two_workers(make: Make) -> None:
    project = make({**FILES, "mine.py": CLAMP_TEST, "cluster.py": CLUSTER})
    wrong = {f"wrong{number:02}": f"{CLAMP} + {number}" for number in range(39)}
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT, **wrong)
    with subprocess.Popen(
        [sys.executable, str(project.root / "cluster.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as cluster:
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        run = project.rank("--brt-tests=mine.py", f"--brt-executor=dask:{address}")
        cluster.communicate("")
    assert run.code == 0, run.said
    ranking = run.report.ranking
    assert ranking.leader == "right.diff"
    assert len(ranking.patches) == 40
    assert {patch.ran for patch in ranking.patches} == {2}


def test_a_cluster_that_is_none(make: Make) -> None:
    project = make({**FILES, "mine.py": CLAMP_TEST})
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT)
    for named in ("cluster", "dask:tcp://127.0.0.1:1"):
        run = project.rank("--brt-tests=mine.py", f"--brt-executor={named}")
        assert run.refuses(named), run.said
