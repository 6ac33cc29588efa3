"""Spectrum-based fault localisation: how suspicious a line is by the tests that run it.

Pure functions over coverage. `e_f` and `e_p` are the failing and passing tests that run the
line, `n_f` and `n_p` those that do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt

from pytest_brt.types import TestRun

#: Lines that one test ran, by file.
Coverage = Mapping[str, frozenset[int]]


def lines_of(run: TestRun) -> dict[str, frozenset[int]]:
    """Return the lines that a test ran of the files that were watched.

    >>> from pytest_brt.types import Verdict
    >>> run = TestRun(test="t", node="", verdict=Verdict.PASS, reason="", ran=(("a.py", "14"),))
    >>> sorted(lines_of(run)["a.py"])
    [2, 4]
    """
    bits = {path: int(lines, 16) for path, lines in run.ran}
    return {
        path: frozenset(line for line in range(lines.bit_length()) if lines >> line & 1)
        for path, lines in bits.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectLine:
    """A line, how many tests run it, and how many there are."""

    path: str
    line: int
    failing: int
    passing: int
    all_failing: int
    all_passing: int

    @property
    def ochiai(self) -> float:
        """e_f / √((e_f + n_f)(e_f + e_p)), in 0..1 (Abreu et al. 2006)."""
        below = sqrt(self.all_failing * (self.failing + self.passing))
        return self.failing / below if below else 0.0

    @property
    def dstar(self) -> float:
        """e_f² / (e_p + n_f), infinite for a line that exactly the failing tests run.

        (Wong et al. 2014, who recommend the power of 2.)
        """
        if not self.failing:
            return 0.0
        below = self.passing + (self.all_failing - self.failing)
        return self.failing**2 / below if below else inf

    @property
    def tarantula(self) -> float:
        """(e_f/F) / (e_f/F + e_p/P), in 0..1 (Jones and Harrold 2005)."""
        failing = self.failing / self.all_failing if self.all_failing else 0.0
        passing = self.passing / self.all_passing if self.all_passing else 0.0
        return failing / (failing + passing) if failing else 0.0


def rank_lines(failing: Sequence[Coverage], passing: Sequence[Coverage]) -> tuple[SuspectLine, ...]:
    """Return the lines that failing tests run, by Ochiai's score, ties by place."""
    in_failing, in_passing = _count(failing), _count(passing)
    found = [
        SuspectLine(
            path=path,
            line=line,
            failing=count,
            passing=in_passing[path, line],
            all_failing=len(failing),
            all_passing=len(passing),
        )
        for (path, line), count in in_failing.items()
    ]
    return tuple(sorted(found, key=lambda item: (-item.ochiai, item.path, item.line)))


def _count(tests: Sequence[Coverage]) -> Counter[tuple[str, int]]:
    return Counter((path, n) for test in tests for path, lines in test.items() for n in lines)
