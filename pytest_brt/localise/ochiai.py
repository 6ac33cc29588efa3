"""How suspicious the tests that run a line make it: Ochiai's score of the spectrum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt

from pytest_brt.types import TestRun

#: A file, and a line of it.
Line = tuple[str, int]


def rank_lines(failing: Sequence[TestRun], passing: Sequence[TestRun]) -> list[tuple[Line, float]]:
    """Return the lines that failing tests run, by Ochiai's score.

    It is e_f / √((e_f + n_f)(e_f + e_p)) of the failing tests that run the line (e_f) or do not
    (n_f), and the passing ones that do (Abreu et al. 2006).
    """
    in_failing, in_passing = _counts(failing), _counts(passing)
    scores = {
        line: count / sqrt(len(failing) * (count + in_passing[line]))
        for line, count in in_failing.items()
    }
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _counts(runs: Sequence[TestRun]) -> Counter[Line]:
    ran = [(path, int(lines, 16)) for run in runs for path, lines in run.ran]
    return Counter(
        (path, n) for path, bits in ran for n in range(bits.bit_length()) if bits >> n & 1
    )
