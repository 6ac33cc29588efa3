"""Measures of an order with ties: each is the expectation over the orders of the tied.

An order is a sequence of groups, best first; each group holds the labels (right or wrong) of the
patches that stand at the same place. After paper 001, section on the selection of fixes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import comb
from statistics import fmean

from tests.scenarios.read import Ranking

Order = Sequence[Sequence[bool]]


def order_of(ranking: Ranking, right: frozenset[str]) -> Order:
    """Return the labels in the order of a ranking, those that have no place in the last group."""
    groups: dict[float, list[bool]] = {}
    for patch in ranking.patches:
        # Patches that share ranks, as 2 to 3, are one group.
        place = float("inf") if patch.ranks is None else patch.ranks[0]
        groups.setdefault(place, []).append(patch.name in right)
    return [groups[place] for place in sorted(groups)]


def precision_at_1(order: Order) -> float:
    """Return how likely the first patch is right."""
    return sum(order[0]) / len(order[0])


def reciprocal_rank(order: Order) -> float:
    """Return the expectation of one over the place of the first right patch."""
    before = 0
    for group in order:
        size, right = len(group), sum(group)
        if right:
            # It is at place i of its group when i - 1 wrong ones precede it.
            return sum(
                comb(size - place, right - 1) / comb(size, right) / (before + place)
                for place in range(1, size - right + 2)
            )
        before += size
    return 0.0


def auc(order: Order) -> float:
    """Return how likely a right patch stands before a wrong one; ties are half."""
    rights = sum(sum(group) for group in order)
    wrongs = sum(len(group) for group in order) - rights
    behind, better = wrongs, 0.0
    for group in order:
        wrong = len(group) - sum(group)
        behind -= wrong
        better += sum(group) * (behind + wrong / 2)
    return better / (rights * wrongs)


def interval(values: Sequence[float], draws: int = 2000) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by bootstrap over the bugs."""
    chance = random.Random(0)
    means = sorted(fmean(chance.choices(values, k=len(values))) for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws)]
