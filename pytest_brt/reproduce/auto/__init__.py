"""Tries one way after the other, the cheapest first, until there is enough or the time is over."""

from __future__ import annotations

from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue


def _attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make the tests of one issue; see `pytest_brt.reproduce.auto.run.attempt`."""
    from pytest_brt.reproduce.auto.run import attempt

    return attempt(issue, index, bench)


#: The strategy as `--brt-strategy auto` knows it.
STRATEGY = Strategy(attempt=_attempt, asks=True)
