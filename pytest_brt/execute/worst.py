"""Several runs that count as one: the worst speaks for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.execute.row import TestTarget
from pytest_brt.types import TestRun, Verdict

#: The verdict of several items that count as one: the first of these that occurs.
_WORST = (
    Verdict.TAMPERED, Verdict.INVALID, Verdict.CRASH, Verdict.TIMEOUT, Verdict.FAIL,
    Verdict.BROKEN, Verdict.PASS, Verdict.XFAIL, Verdict.SKIP,
)  # fmt: skip


def merge(runs: Sequence[TestRun], target: TestTarget) -> TestRun:
    """Return one run for all items of a target that names a single test."""
    found = worst(runs)
    return replace(found, node=target.node or found.node)


def worst(runs: Sequence[TestRun]) -> TestRun:
    """Return the run of several, as of one test with several parameters, that says most ill.

    Its seconds are those of all.
    """
    found = min(runs, key=lambda run: _WORST.index(run.verdict))
    return replace(found, seconds=sum(run.seconds for run in runs))
