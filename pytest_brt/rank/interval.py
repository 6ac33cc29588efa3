"""Intervals of a share that was estimated from few votes (the Beta distribution)."""

from __future__ import annotations

import math


def beta_interval(mean: float, votes: float, mass: float = 0.8) -> tuple[float, float]:
    """Return where a share with this estimate lies with probability `mass`, equal tails.

    Args:
        mean: the estimate, in 0..1.
        votes: how many independent observations it rests on; 0 gives the widest interval.
        mass: in 0..1.

    The distribution is Beta(mean·n, (1 - mean)·n) with n = votes + 2, two being the weight of
    knowing nothing (Laplace's rule).
    """
    strength = votes + 2.0
    a = max(mean * strength, 0.05)
    b = max((1.0 - mean) * strength, 0.05)
    tail = (1.0 - mass) / 2.0
    low, high = beta_quantile(tail, a, b), beta_quantile(1.0 - tail, a, b)
    return (min(low, mean), max(high, mean))


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return x such that a Beta(a, b) variable is at most x with probability `share`."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if beta_cdf(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b).

    By its continued fraction (Abramowitz and Stegun 26.5.8), evaluated where it converges fast.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        + a * math.log(x) + b * math.log1p(-x)
    )  # fmt: skip
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction by the modified Lentz method."""
    tiny = 1e-300
    c, d = 1.0, _apart(1.0 - (a + b) * x / (a + 1.0), tiny)
    d = 1.0 / d
    value = d
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1.0 / _apart(1.0 + term * d, tiny)
            c = _apart(1.0 + term / c, tiny)
            step = c * d
            value *= step
        if abs(step - 1.0) < 1e-12:
            break
    return value


def _apart(value: float, tiny: float) -> float:
    """Keep a denominator away from zero."""
    return value if abs(value) > tiny else tiny
