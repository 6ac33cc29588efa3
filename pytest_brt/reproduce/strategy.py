"""What a strategy is, and what it is given to work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_brt.execute.engine import Engine
from pytest_brt.types import Attempt, Issue


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """All that an attempt may use; shared by the attempts of one pytest run."""

    engine: Engine
    #: Runs on the unpatched tree that must agree.
    repeat: int
    #: Tests to keep per issue.
    keep: int
    #: Loads the model on the first call and returns the same one from then on. Raises
    #: ModelProblem when there is none or it cannot be loaded.
    model: Callable[[], object]
    #: Says in a few words what is being done; for `-v`.
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A way of making tests from an issue."""

    #: Makes the tests of one run: issue, 0-based number of the run, workbench → attempt.
    attempt: Callable[[Issue, int, Workbench], Attempt]
    #: Independent runs per issue.
    runs: int = 1
