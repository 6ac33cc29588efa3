"""Spectrum-based fault localisation: how suspicious a line is by the tests that run it.

Pure functions over coverage. `e_f` and `e_p` are the failing and passing tests that run the
line, `n_f` and `n_p` those that do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

#: Lines that one test ran, by file.
Coverage = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many tests run a line, and how many there are."""

    failing: int
    passing: int
    all_failing: int
    all_passing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectLine:
    """A line and how suspicious it is, by Ochiai's formula."""

    path: str
    line: int
    score: float
    counts: Counts


def ochiai(counts: Counts) -> float:
    """Return e_f / √((e_f + n_f)(e_f + e_p)), in 0..1 (Abreu et al. 2006).

    >>> ochiai(Counts(failing=1, passing=0, all_failing=1, all_passing=5))
    1.0
    """
    below = sqrt(counts.all_failing * (counts.failing + counts.passing))
    return counts.failing / below if below else 0.0


def dstar(counts: Counts) -> float:
    """Return e_f² / (e_p + n_f), infinite for a line that exactly the failing tests run.

    (Wong et al. 2014, who recommend the power of 2.)
    """
    if not counts.failing:
        return 0.0
    below = counts.passing + (counts.all_failing - counts.failing)
    return counts.failing**2 / below if below else float("inf")


def tarantula(counts: Counts) -> float:
    """Return (e_f/F) / (e_f/F + e_p/P), in 0..1 (Jones and Harrold 2005)."""
    failing = counts.failing / counts.all_failing if counts.all_failing else 0.0
    passing = counts.passing / counts.all_passing if counts.all_passing else 0.0
    return failing / (failing + passing) if failing else 0.0


def rank_lines(failing: Sequence[Coverage], passing: Sequence[Coverage]) -> tuple[SuspectLine, ...]:
    """Return the lines that failing tests run, by Ochiai's score, ties by place."""
    in_passing = _count(passing)
    found = []
    for (path, line), count in _count(failing).items():
        counts = Counts(
            failing=count,
            passing=in_passing.get((path, line), 0),
            all_failing=len(failing),
            all_passing=len(passing),
        )
        found.append(SuspectLine(path=path, line=line, score=ochiai(counts), counts=counts))
    return tuple(sorted(found, key=lambda item: (-item.score, item.path, item.line)))


def _count(tests: Iterable[Coverage]) -> dict[tuple[str, int], int]:
    counts: dict[tuple[str, int], int] = {}
    for coverage in tests:
        for path, lines in coverage.items():
            for line in lines:
                counts[path, line] = counts.get((path, line), 0) + 1
    return counts
