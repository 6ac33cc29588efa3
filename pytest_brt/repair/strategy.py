"""What a repair strategy is, and those there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_brt.repair import passerine
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.free_repair import run_free_repair
from pytest_brt.repair.passerine import run_passerine
from pytest_brt.repair.repairagent import run_repairagent
from pytest_brt.types import Repair


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairStrategy:
    """A way of repairing a bug."""

    #: Carries out one run: 0-based number, bench → repair.
    attempt: Callable[[int, RepairBench], Repair]
    #: Independent runs per issue.
    runs: int = 1
    #: Whether only every other run, from the first on, is given the failing test.
    alternates: bool = False


BUILT_IN: Mapping[str, RepairStrategy] = {
    "repairagent": RepairStrategy(attempt=run_repairagent),
    "passerine": RepairStrategy(attempt=run_passerine, runs=passerine.RUNS, alternates=True),
    "auto": RepairStrategy(attempt=run_free_repair),
}
