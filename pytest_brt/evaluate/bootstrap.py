"""How sure a mean over bugs is, and whether two differ: bugs are drawn again, seeded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

#: Below this many pairs that differ, all flips of signs are tried.
EXACT = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A mean over bugs, and where it lies with 95 %."""

    mean: float
    low: float
    high: float
    #: Bugs; without any the rest is 0 and says nothing.
    n: int = 0


def mean_interval(values: Sequence[float], rounds: int = 2000, seed: int = 0) -> Gap:
    """Return the mean of `values` with its interval, by the percentile bootstrap."""
    return ratio_interval([(value, 1) for value in values], rounds, seed)


def ratio_interval(pairs: Sequence[tuple[float, int]], rounds: int = 2000, seed: int = 0) -> Gap:
    """Return the share of hits with its interval, where a bug has several runs.

    Args:
        pairs: per bug, the hits and the runs; bugs are drawn again, each with all its runs.
        rounds: how often.
        seed: of the draws.
    """
    some = [pair for pair in pairs if pair[1]]
    if not some:
        return Gap(mean=0.0, low=0.0, high=0.0)
    generator = random.Random(seed)

    def share(drawn: Sequence[tuple[float, int]]) -> float:
        return sum(hits for hits, _ in drawn) / sum(runs for _, runs in drawn)

    shares = sorted(share(generator.choices(some, k=len(some))) for _ in range(rounds))
    low, high = shares[int(0.025 * rounds)], shares[int(0.975 * rounds) - 1]
    return Gap(mean=share(some), low=low, high=high, n=len(some))


def paired_p(ones: Sequence[float], others: Sequence[float], rounds: int = 10000) -> float:
    """Return how likely a mean difference as large as that of the pairs is by chance alone.

    Two-sided, by flipping the signs of the differences: all ways when there are few, else
    `rounds` of them. For values that are 0 or 1 it is McNemar's exact test.
    """
    gaps = [a - b for a, b in zip(ones, others, strict=True) if a != b]
    if not gaps:
        return 1.0
    seen = abs(sum(gaps)) - 1e-9
    if len(gaps) <= EXACT:
        flips = list(product((1, -1), repeat=len(gaps)))
        hits = sum(abs(sum(s * g for s, g in zip(f, gaps, strict=True))) >= seen for f in flips)
        return hits / len(flips)
    generator = random.Random(0)
    hits = sum(
        abs(sum(gap if generator.getrandbits(1) else -gap for gap in gaps)) >= seen
        for _ in range(rounds)
    )
    return (hits + 1) / (rounds + 1)
