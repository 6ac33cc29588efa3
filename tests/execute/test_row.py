from __future__ import annotations

from dataclasses import replace

from pytest_brt.execute.engine import worst
from pytest_brt.types import TestRun, Verdict
from tests.support.outcomes import caused


def test_the_worst_item_speaks_for_all() -> None:
    def run(verdict: Verdict) -> TestRun:
        return TestRun(test="t", node="n", verdict=verdict, cause=caused(verdict), seconds=1.0)

    runs = [run(Verdict.PASS), run(Verdict.FAIL), run(Verdict.SKIP)]
    assert worst(runs) == replace(runs[1], seconds=3.0)
    assert worst(runs[::2]) == replace(runs[0], seconds=2.0)


def test_what_the_items_executed_is_put_together() -> None:
    def run(lines: str, cpu: float) -> TestRun:
        ran = (("pkg/core.py", lines),)
        return TestRun(
            test="t", node="n", verdict=Verdict.PASS, cause=caused(Verdict.PASS), ran=ran, cpu=cpu
        )

    found = worst([run("5", 1.0), run("6", 2.0)])
    assert (found.ran, found.cpu) == ((("pkg/core.py", "7"),), 3.0)
