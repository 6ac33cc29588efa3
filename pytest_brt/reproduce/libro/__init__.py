"""Failing tests by sampling a model many times and taking what the samples agree on."""

from __future__ import annotations

from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue


def _attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make the tests of one issue; see `pytest_brt.reproduce.libro.run.libro`."""
    from pathlib import Path

    from pytest_brt.code.index import open_index
    from pytest_brt.reproduce.libro.run import LibroSettings, libro

    settings = LibroSettings(
        samples=bench.samples or LibroSettings().samples,
        threshold=bench.agree,
        repeat=bench.repeat,
        index=index,
    )
    with open_index(Path(bench.engine.subject.root), bench.cache) as project:
        return libro(issue, project, bench, settings)


#: The strategy as `--brt-strategy libro` knows it: one run of many samples.
STRATEGY = Strategy(attempt=_attempt, asks=True)
