"""BRT Agent: a model looks around, writes a test, runs it, and says when it is done (paper 001)."""

from __future__ import annotations

from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue

#: Runs per bug, as in paper 001.
RUNS = 20


def _attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make the tests of one run; see `pytest_brt.reproduce.agent.run.attempt`."""
    from pytest_brt.reproduce.agent.run import attempt

    return attempt(issue, index, bench)


#: The strategy as `--brt-strategy agent` knows it.
STRATEGY = Strategy(attempt=_attempt, runs=RUNS, asks=True)
