"""What share of the bugs is reproduced (paper 001, RQ1; SWT-bench; LIBRO), from a study's result.

A bug that could not be set up is in no share; how many there are is told beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from pytest_brt.evaluate.metrics import Gap, Order, mean_interval
from pytest_brt.evaluate.record import (
    Covered,
    Ranked,
    RankedBy,
    Reproduced,
    StudyResult,
    TestOutcome,
    Told,
)

#: Says of one strategy's candidates for a bug, best first, whether something holds.
Holds = Callable[[Sequence[TestOutcome]], bool]

#: Per bug, in the order in which they are shown.
RATES: dict[str, Holds] = {
    # F→X: fails on the bug for a reason that can be named.
    "candidate": bool,
    # F→P: and passes with the true fix.
    "plausible": lambda tests: any(one.plausible for one in tests),
    "first": lambda tests: bool(tests) and tests[0].plausible,
    # SWT-bench's own rule for what is submitted: it adds an F→P test and no X→F.
    "swt": lambda tests: bool(tests) and all(one.plausible for one in tests),
    "valid": lambda tests: any(one.plausible and one.valid for one in tests),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """RQ1 for one group of bugs."""

    n: int
    rates: dict[str, Gap]
    #: Of the bugs with a candidate, those with a plausible one; 0 bugs say nothing.
    ratio: Gap


def strategies_of(result: StudyResult) -> tuple[str, ...]:
    """Return the strategies that were run, in their order."""
    return result.settings.strategies


def done(result: StudyResult) -> tuple[Reproduced, ...]:
    """Return the bugs that were set up."""
    return tuple(one for one in result.reproduced if not one.problem)


def of_strategy(bug: Reproduced, strategy: str) -> tuple[TestOutcome, ...]:
    """Return the candidates of one strategy, best first."""
    return tuple(test for test in bug.tests if test.strategy == strategy)


def shares(bugs: Sequence[Reproduced], strategy: str) -> Shares:
    """Return RQ1 over `bugs`."""
    tests = [of_strategy(bug, strategy) for bug in bugs]
    plausible = [float(RATES["plausible"](some)) for some in tests if some]
    return Shares(
        n=len(bugs),
        rates={
            name: mean_interval([float(holds(some)) for some in tests])
            for name, holds in RATES.items()
        },
        ratio=mean_interval(plausible),
    )


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


def coverage_of(bugs: Iterable[Reproduced], strategy: str) -> list[Covered]:
    """Return, per bug where it was looked at, what the candidates of a strategy run of its fix."""
    return [one for bug in bugs for one in bug.covered if one.strategy == strategy]


# -- behaviour ----------------------------------------------------------------------------


class Acted(Protocol):
    """A run that may have asked a model."""

    @property
    def actions(self) -> tuple[str, ...]:
        """Names in their order, "" for a reply without one."""
        ...

    @property
    def endings(self) -> tuple[str, ...]:
        """Why the dialogue, or else each sample, ended; empty when there was none."""
        ...


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


def runs_of(bugs: Iterable[Reproduced], strategy: str) -> list[Told]:
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
