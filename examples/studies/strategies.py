"""Strategies for studies: none, with which repairs have the tests that are given, and ablations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pytest_brt.repair.bench import RepairBench, Without
from pytest_brt.repair.repairagent import run_repairagent
from pytest_brt.repair.strategy import RepairStrategy
from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue, Repair


def make_none(issue: Issue, index: int, _: Workbench) -> Attempt:
    """Return an attempt that considered nothing."""
    return Attempt(issue=issue.id, strategy="none", index=index, tests=())


def run_without(part: Without, index: int, bench: RepairBench) -> Repair:
    """Carry out a run of RepairAgent without a part of it (paper 2, V-D)."""
    return run_repairagent(index, replace(bench, without=frozenset({part})))


def pytest_brt_strategies() -> Mapping[str, Strategy | RepairStrategy]:
    """Return the strategies by their names, as in repairagent-no-search."""
    ablations = {
        f"repairagent-no-{part}": RepairStrategy(attempt=partial(run_without, part))
        for part in Without
    }
    return {"none": Strategy(attempt=make_none), **ablations}
