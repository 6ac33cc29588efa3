"""The order in which ways are tried, and when it is enough."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.reproduce.replay import STRATEGY as REPLAY
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Attempt, Issue


def attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make the tests of one issue in the cheapest way that gives any."""
    return replace(REPLAY.attempt(issue, index, bench), strategy="auto")
