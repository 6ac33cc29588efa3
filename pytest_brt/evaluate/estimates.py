"""How sure a mean over bugs is, and whether two differ: bugs are drawn again, seeded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

#: Draws of the bugs.
_ROUNDS = 2000
#: Up to this many pairs that differ, all flips of signs are tried.
EXACT = 14
#: Flips that are tried of more pairs.
_FLIPS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over bugs, and where it lies with 95 %."""

    mean: float
    low: float
    high: float
    #: Bugs.
    n: int


def estimate(values: Sequence[float], weights: Sequence[int] | None = None) -> Estimate | None:
    """Return the mean of `values` with its interval by the percentile bootstrap.

    With `weights`, a value is the sum over so many runs of one bug: whole bugs are drawn again.
    None where there is nothing to average.
    """
    counts = [1] * len(values) if weights is None else weights
    bugs = [(value, count) for value, count in zip(values, counts, strict=True) if count]
    if not bugs:
        return None
    generator = random.Random(0)
    means = sorted(_mean(generator.choices(bugs, k=len(bugs))) for _ in range(_ROUNDS))
    low, high = means[int(0.025 * _ROUNDS)], means[int(0.975 * _ROUNDS) - 1]
    return Estimate(mean=_mean(bugs), low=low, high=high, n=len(bugs))


def _mean(bugs: Sequence[tuple[float, int]]) -> float:
    return sum(value for value, _ in bugs) / sum(count for _, count in bugs)


def permutation_p(ones: Sequence[float], others: Sequence[float]) -> float:
    """Return how likely a mean difference as large as that of the pairs is by chance alone.

    Two-sided, by flipping the signs of the differences: all ways when there are few, else
    10,000 of them. For values that are 0 or 1 it is McNemar's exact test.
    """
    gaps = [one - other for one, other in zip(ones, others, strict=True) if one != other]
    if not gaps:
        return 1.0
    seen = abs(sum(gaps)) - 1e-9
    if len(gaps) <= EXACT:
        flips = list(product((1, -1), repeat=len(gaps)))
        sums = [sum(sign * gap for sign, gap in zip(signs, gaps, strict=True)) for signs in flips]
        return sum(abs(total) >= seen for total in sums) / len(flips)
    generator = random.Random(0)
    hits = 0
    for _ in range(_FLIPS):
        total = sum(gap if generator.getrandbits(1) else -gap for gap in gaps)
        hits += abs(total) >= seen
    return (hits + 1) / (_FLIPS + 1)
