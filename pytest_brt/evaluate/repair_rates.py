"""What share of the bugs is repaired, with and without the failing test (paper 001, RQ2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from pytest_brt.evaluate.metrics import Gap, mean_interval, paired_p, ratio_interval
from pytest_brt.evaluate.record import Repaired, RepairRun, StudyResult

#: Says of the runs of one way on a bug whether something holds.
Holds = Callable[[Sequence[RepairRun]], bool]

#: Per bug, in the order in which they are shown; of fixes that the runs kept.
RATES: dict[str, Holds] = {
    "fix": lambda runs: any(fix.kept for run in runs for fix in run.fixes),
    "own": lambda runs: any(fix.kept and fix.own for run in runs for fix in run.fixes),
    "right": lambda runs: any(run.is_right for run in runs),
    "same": lambda runs: any(fix.kept and fix.same_as_fix for run in runs for fix in run.fixes),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Chooses runs."""

    strategy: str
    #: With the failing tests, without them, or either.
    given: bool | None = None
    #: Parts that were switched off.
    without: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What is shown of it."""
        given = {True: "with the failing test", False: "with the report alone", None: "either way"}
        off = f", without {' and '.join(self.without)}" if self.without else ""
        return f"{self.strategy} {given[self.given]}{off}"

    def runs(self, bug: Repaired) -> list[RepairRun]:
        """Return the runs on a bug that began."""
        return [
            run
            for run in bug.runs
            if run.ending
            and run.strategy == self.strategy
            and self.given in (None, run.given)
            and self.without == run.without
        ]


def mended(result: StudyResult) -> tuple[Repaired, ...]:
    """Return the bugs whose repair was tried."""
    return tuple(bug for bug in result.repaired if not bug.problem)


def repairers_of(result: StudyResult) -> tuple[str, ...]:
    """Return the repair strategies that were run, in their order."""
    return result.settings.repairs.strategies if result.settings.repairs else ()


def ways_in(result: StudyResult) -> list[Which]:
    """Return the ways that bugs were repaired, in the order in which they are first met."""
    found: dict[Which, None] = {}
    for bug in mended(result):
        for run in bug.runs:
            which = Which(strategy=run.strategy, given=run.given, without=run.without)
            found.setdefault(which, None)
    return list(found)


def tried(result: StudyResult, strategy: str) -> list[RepairRun]:
    """Return the runs of one whole strategy, with and without the failing test."""
    return [run for bug in mended(result) for run in Which(strategy=strategy).runs(bug)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairShares:
    """RQ2 for one way."""

    n: int
    rates: dict[str, Gap]
    #: Median over the runs that wrote a right fix; None where none did.
    steps: float | None


def repair_shares(bugs: Iterable[Repaired], which: Which) -> RepairShares:
    """Return RQ2 over the bugs that `which` was tried on."""
    groups = [runs for runs in map(which.runs, bugs) if runs]
    steps = [run.first_right for runs in groups for run in runs if run.first_right is not None]
    return RepairShares(
        n=len(groups),
        rates={
            name: mean_interval([float(holds(runs)) for runs in groups])
            for name, holds in RATES.items()
        },
        steps=median(steps) if steps else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much better one way is than another, over the bugs that both were tried on."""

    n: int
    rates: dict[str, Gap]
    #: Likelihood of such a difference of right ones by chance.
    p: float


def difference(pairs: Iterable[tuple[Sequence[RepairRun], Sequence[RepairRun]]]) -> Difference:
    """Return how much better the first of each pair of runs on a bug is than the second."""
    both = [(ones, others) for ones, others in pairs if ones and others]
    gaps = {
        name: mean_interval([float(holds(ones)) - float(holds(others)) for ones, others in both])
        for name, holds in RATES.items()
    }
    ones = [float(RATES["right"](runs)) for runs, _ in both]
    others = [float(RATES["right"](runs)) for _, runs in both]
    return Difference(n=len(both), rates=gaps, p=paired_p(ones, others))


def right_given(bugs: Iterable[Repaired], which: Which, *, used: bool | None) -> tuple[int, Gap]:
    """Return how many runs there were, and the share of them that found a right fix.

    Args:
        bugs: where to look.
        which: chooses runs.
        used: only those that used the failing test, or that did not; None for all.
    """
    pairs = []
    for bug in bugs:
        runs = [run for run in which.runs(bug) if used in (None, run.used)]
        pairs.append((sum(run.is_right for run in runs), len(runs)))
    return sum(count for _, count in pairs), ratio_interval(pairs)


def calls(runs: Iterable[RepairRun]) -> dict[str, float]:
    """Return how often each action is taken in a run, on average; "other" is none of ours."""
    some = list(runs)
    counts = Counter(action or "other" for run in some for action in run.actions)
    return {name: count / len(some) for name, count in counts.items()}
