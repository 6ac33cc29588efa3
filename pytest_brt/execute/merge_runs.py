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

    Its seconds, and the lines that it executed, are those of all.
    """
    found = min(runs, key=lambda run: _WORST.index(run.verdict))
    if len(runs) == 1:
        return found
    ran: dict[str, int] = {}
    for path, lines in (pair for run in runs for pair in run.ran):
        ran[path] = ran.get(path, 0) | int(lines, 16)
    return replace(
        found,
        seconds=sum(run.seconds for run in runs),
        cpu=sum(run.cpu for run in runs),
        ran=tuple((path, f"{lines:x}") for path, lines in ran.items()),
    )
