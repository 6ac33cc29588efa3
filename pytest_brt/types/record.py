"""All of a run."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.types.attempt import Attempt
from pytest_brt.types.candidate import JudgedTest
from pytest_brt.types.fix import Localised, Repair
from pytest_brt.types.issue import Issue
from pytest_brt.types.rank import NotRun, Rank


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """All that one invocation found out."""

    issues: tuple[Issue, ...]
    attempts: tuple[Attempt, ...]
    #: Tests that a person gave or an earlier run wrote.
    given: tuple[JudgedTest, ...]
    ranks: tuple[Rank, ...]
    #: Isolation level that was reached: ns, landlock, process or none.
    sandbox: str
    #: Remarks about the run as a whole.
    notes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    localised: tuple[Localised, ...] = ()
    #: Of issues whose ranking lacks patches: it was interrupted, or running them went wrong.
    not_run: tuple[NotRun, ...] = ()
