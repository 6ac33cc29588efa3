"""Failing tests by way of passing ones: pin what is wrong now, then turn the assertion round."""

from __future__ import annotations

from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue


def _attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make the tests of one run; see `pytest_brt.reproduce.invert.run.invert`."""
    from pathlib import Path

    from pytest_brt.code.index import open_index
    from pytest_brt.reproduce.invert.run import InvertSettings, invert

    settings = InvertSettings(keep=bench.keep, repeat=bench.repeat, index=index)
    with open_index(Path(bench.engine.subject.root), bench.cache) as project:
        return invert(issue, project, bench, settings)


#: The strategy as `--brt-strategy invert` knows it.
STRATEGY = Strategy(attempt=_attempt, asks=True)
