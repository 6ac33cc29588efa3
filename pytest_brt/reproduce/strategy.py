"""What a strategy is, and what it is given to work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_brt.execute.engine import Engine
from pytest_brt.model.base import Model
from pytest_brt.types import Attempt, Issue


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """All that an attempt may use; shared by the attempts of one pytest run."""

    engine: Engine
    #: Runs on the unpatched tree that must agree.
    repeat: int
    #: Tests to keep per issue.
    keep: int
    #: Loaded when it is first asked; raises ModelProblem then when there is none.
    model: Model
    #: Says in a few words what is being done; for `-v`.
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A way of making tests from an issue."""

    #: Makes the tests of one run: issue, 0-based number of the run, workbench → attempt.
    attempt: Callable[[Issue, int, Workbench], Attempt]
    #: Independent runs per issue.
    runs: int = 1
