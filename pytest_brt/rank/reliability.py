"""How far a failing test can be trusted before any patch is seen.

The figures are shares measured on published candidate tests of many bugs, and on real reports
(docs/ranking.md lists them with their sources); none belongs to a single project.
"""

from __future__ import annotations

import math

from pytest_brt.types import JudgedTest

#: Odds that a test is right, for failing like this many other independent ones, relative to
#: failing like none: from shares of 0.12, 0.22, 0.37, 0.48 and 0.61 for 1, 2-3, 4-9, 10-19, 20+.
_AGREEMENT = ((20, 11.5), (10, 6.8), (4, 4.3), (2, 2.1), (1, 1.0))


def reliability(judged: JudgedTest, agreeing: int) -> float:
    """Return the probability that a candidate is F→P, in 0.02..0.98.

    Args:
        judged: its confidence already tells of the oracle and of how well the failure matches
            the report.
        agreeing: independent attempts (the own one counted) that failed in the same way.
    """
    prior = min(max(judged.judgement.confidence, 0.02), 0.98)
    factor = next(factor for least, factor in _AGREEMENT if agreeing >= least)
    odds = prior / (1 - prior) * factor
    return min(max(odds / (1 + odds), 0.02), 0.98)


def logit(share: float) -> float:
    """Return the logarithm of the odds of a probability strictly between 0 and 1."""
    return math.log(share / (1 - share))


def sigmoid(value: float) -> float:
    """Return the probability whose log-odds are `value`."""
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    grown = math.exp(value)
    return grown / (1 + grown)
