"""Turns what a report shows into failing tests, without a model."""

from __future__ import annotations

from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue


def _attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make the tests of one issue; see `pytest_brt.reproduce.replay.run.replay`."""
    from pytest_brt.reproduce.replay.run import ReplaySettings, replay

    settings = ReplaySettings(repeat=bench.repeat, keep=bench.keep, index=index)
    return replay(issue, engine=bench.engine, settings=settings, progress=bench.say)


#: The strategy as `--brt-strategy replay` knows it; deterministic, so one run is enough.
STRATEGY = Strategy(attempt=_attempt)
