"""Where a study may be carried out, and what is not there."""

from __future__ import annotations

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.evaluate.cluster import open_cluster


@pytest.mark.parametrize("spec", ["dask", "dask:", "ray:x", "threads:3"])
def test_an_executor_that_is_none(spec: str) -> None:
    with pytest.raises(UsageProblem, match="expected threads or dask:ADDRESS"):
        open_cluster(spec)


@pytest.mark.slow
def test_nobody_there() -> None:
    with pytest.raises(UsageProblem, match="nobody answers at"):
        open_cluster("dask:tcp://127.0.0.1:9")


def test_a_ranking_runs_on_this_machine_alone(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess(
        "--brt-issue=clamp.md", "--rank-fixes=patches", "--brt-executor=dask:tcp://127.0.0.1:9"
    )
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--brt-executor*only a study uses it*"])
