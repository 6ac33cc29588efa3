"""What share of the bugs is reproduced (paper 001, RQ1; SWT-bench; LIBRO), and repaired (RQ2).

A bug that could not be set up is in no share; how many there are is told beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TypeVar

from pytest_brt.evaluate.metrics import Gap, Order, difference, mean_interval
from pytest_brt.evaluate.record import (
    Ranked,
    RankedBy,
    Repaired,
    RepairRun,
    Reproduced,
    StrategyRun,
    StudyResult,
    TestOutcome,
)

T = TypeVar("T")

#: Of one strategy's candidates for a bug, best first; in the order in which they are shown.
RATES: dict[str, Callable[[Sequence[TestOutcome]], bool]] = {
    # F→X: fails on the bug for a reason that can be named.
    "candidate": bool,
    # F→P: and passes with the true fix.
    "plausible": lambda tests: any(one.plausible for one in tests),
    "first": lambda tests: bool(tests) and tests[0].plausible,
    # SWT-bench's own rule for what is submitted: it adds an F→P test and no X→F.
    "swt": lambda tests: bool(tests) and all(one.plausible for one in tests),
    "valid": lambda tests: any(one.plausible and one.valid for one in tests),
}


def shares(rates: Mapping[str, Callable[[T], bool]], groups: Sequence[T]) -> dict[str, Gap]:
    """Return of what share of `groups` each rate holds."""
    return {
        name: mean_interval([float(holds(group)) for group in groups])
        for name, holds in rates.items()
    }


def done(result: StudyResult) -> tuple[Reproduced, ...]:
    """Return the bugs that were set up."""
    return tuple(one for one in result.reproduced if not one.problem)


def of_strategy(bug: Reproduced, strategy: str) -> tuple[TestOutcome, ...]:
    """Return the candidates of one strategy, best first."""
    return tuple(test for test in bug.tests if test.strategy == strategy)


def by_repo(bugs: Iterable[Reproduced]) -> dict[str, list[Reproduced]]:
    """Return the bugs of each repository, by its name."""
    groups: dict[str, list[Reproduced]] = {}
    for bug in sorted(bugs, key=lambda one: one.repo):
        groups.setdefault(bug.repo, []).append(bug)
    return groups


def test_orders(bugs: Iterable[Reproduced], strategy: str) -> list[Order]:
    """Return, per bug with a candidate, which of its candidates are plausible, best first."""
    found = (of_strategy(bug, strategy) for bug in bugs)
    return [[[test.plausible] for test in tests] for tests in found if tests]


# -- patches ------------------------------------------------------------------------------


def is_mixed(bug: Ranked) -> bool:
    """Whether a ranking of its patches can be right or wrong, and there is evidence for it."""
    return bug.tests > 0 and {patch.right for patch in bug.patches} >= {True, False}


def mixed(result: StudyResult) -> list[Ranked]:
    """Return the bugs by which rankers are measured."""
    return [bug for bug in result.ranked if not bug.problem and is_mixed(bug)]


def patch_order(bug: Ranked, order: RankedBy) -> Order:
    """Return the labels of a bug's patches in a ranker's order; unknown ones are left out."""
    labels = {patch.name: patch.right for patch in bug.patches if patch.right is not None}
    groups = [[labels[name] for name in group if name in labels] for group in order.groups]
    return [group for group in groups if group]


def patch_orders(bugs: Iterable[Ranked]) -> dict[str, list[Order]]:
    """Return, per ranker, the order of each bug's patches."""
    found: dict[str, list[Order]] = {}
    for bug in bugs:
        for order in bug.orders:
            found.setdefault(order.ranker, []).append(patch_order(bug, order))
    return found


# -- repairs ------------------------------------------------------------------------------


#: Of the runs of one way on a bug, by the fixes that they kept.
REPAIR_RATES: dict[str, Callable[[Sequence[RepairRun]], bool]] = {
    "fix": lambda runs: any(fix.kept for run in runs for fix in run.fixes),
    "own": lambda runs: any(fix.kept and fix.own for run in runs for fix in run.fixes),
    "right": lambda runs: any(run.is_right for run in runs),
    "same": lambda runs: any(fix.kept and fix.same_as_fix for run in runs for fix in run.fixes),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """A way of repairing bugs, which chooses runs."""

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

    def tried(self, bugs: Iterable[Repaired]) -> list[list[RepairRun]]:
        """Return the runs on each bug that it was tried on."""
        return [runs for runs in map(self.runs, bugs) if runs]


def mended(result: StudyResult) -> tuple[Repaired, ...]:
    """Return the bugs whose repair was tried."""
    return tuple(bug for bug in result.repaired if not bug.problem)


def ways_in(result: StudyResult) -> list[Which]:
    """Return the ways that bugs were repaired, in the order in which they are first met."""
    runs = (run for bug in mended(result) for run in bug.runs)
    ways = (Which(strategy=run.strategy, given=run.given, without=run.without) for run in runs)
    return list(dict.fromkeys(ways))


def tried(result: StudyResult, strategy: str, given: bool | None = None) -> list[RepairRun]:
    """Return the runs of one whole strategy, with the failing test, without it, or either way."""
    which = Which(strategy=strategy, given=given)
    return [run for bug in mended(result) for run in which.runs(bug)]


def steps_to_right(groups: Iterable[Sequence[RepairRun]]) -> float | None:
    """Return the median step over the runs that wrote a right fix; None where none did."""
    steps = [run.first_right for runs in groups for run in runs if run.first_right is not None]
    return median(steps) if steps else None


#: The runs on a bug in one way, and in another.
Pair = tuple[Sequence[RepairRun], Sequence[RepairRun]]


def both_tried(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs of which both ways were tried."""
    return [(ones, others) for ones, others in pairs if ones and others]


def gain(pairs: Sequence[Pair], rate: str = "right") -> tuple[Gap, float]:
    """Return how much more often a rate holds in the first way of each pair, and the p of that."""
    holds = REPAIR_RATES[rate]
    return difference([holds(ones) for ones, _ in pairs], [holds(others) for _, others in pairs])


# -- behaviour ----------------------------------------------------------------------------


#: A run that may have asked a model.
Acted = StrategyRun | RepairRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What one strategy's dialogues were made of (paper 001, RQ1)."""

    #: Dialogues; samples of a strategy that has none.
    runs: int
    #: Per step, from the first on, how often each action was taken.
    by_step: tuple[tuple[tuple[str, int], ...], ...]
    actions: tuple[tuple[str, int], ...]
    bigrams: tuple[tuple[str, int], ...]
    endings: tuple[tuple[str, int], ...]


def runs_of(bugs: Iterable[Reproduced], strategy: str) -> list[StrategyRun]:
    """Return the runs of one strategy."""
    return [run for bug in bugs for run in bug.runs if run.strategy == strategy]


def behaviour(runs: Iterable[Acted]) -> Behaviour:
    """Return what the dialogues of `runs` did; replies without an action are "other"."""
    told = [run for run in runs if run.endings]
    endings = Counter(ending for run in told for ending in run.endings)
    lines = [[action or "other" for action in run.actions] for run in told]
    longest = max(map(len, lines), default=0)
    steps = [Counter(line[at] for line in lines if at < len(line)) for at in range(longest)]
    pairs = Counter(f"{one}→{other}" for line in lines for one, other in pairwise(line))
    return Behaviour(
        runs=endings.total(),
        by_step=tuple(_counted(step) for step in steps),
        actions=_counted(Counter(action for line in lines for action in line)),
        bigrams=_counted(pairs),
        endings=_counted(endings),
    )


def _counted(counter: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counter.items(), key=lambda pair: (-pair[1], pair[0])))
