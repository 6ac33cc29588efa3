"""Rows about dialogues of all stages: what was done at each step, and why runs ended.

Repairs with parts switched off are left out: they say little of the strategy.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from pytest_brt.evaluate.record import Repaired, Reproduced, StrategyRun, StudyResult
from pytest_brt.evaluate.rows.row import Row, about_bug


def ending_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per dialogue, or per sample where there is none (paper 001, Table 5)."""
    for start, _, endings in _runs(result):
        for ending in endings:
            yield start | {"ending": ending}


def step_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per step: its action, and the pair it makes with the next."""
    for start, actions, _ in _runs(result):
        named = [action or "other" for action in actions]
        for step, (action, following) in enumerate(zip_longest(named, named[1:]), 1):
            pair = f"{action}→{following}" if following else None
            yield start | {"step": step, "action": action, "pair": pair}


def _runs(result: StudyResult) -> Iterator[tuple[Row, tuple[str, ...], tuple[str, ...]]]:
    """Yield each run that asked a model: its columns, actions and endings."""
    bugs = {bug.id: bug for bug in result.bugs}
    for stage, found in result.stages.items():
        for studied in found:
            if studied.problem or not isinstance(studied, Reproduced | Repaired):
                continue
            for run in studied.runs:
                start = about_bug(bugs[studied.instance]) | {"stage": stage}
                start |= {"strategy": run.strategy, "run": run.index}
                is_whole = isinstance(run, StrategyRun) or not run.without
                if run.endings and is_whole:
                    yield start, run.actions, run.endings
