"""How suspicious the tests that run a line make it: Ochiai's score of the spectrum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from pytest_brt.types import TestRun

#: From so many passing tests on, what all tests run says nothing of the bug.
_TELLING = 2
#: Lines that one test ran, by file.
Coverage = Mapping[str, frozenset[int]]


def lines_of(run: TestRun) -> dict[str, frozenset[int]]:
    """Return the lines that a test ran of the files that were watched.

    >>> from pytest_brt.types import Verdict
    >>> from pytest_brt.types.cause import Passed
    >>> ran = (("a.py", "14"),)
    >>> run = TestRun(test="t", node="", verdict=Verdict.PASS, cause=Passed(), ran=ran)
    >>> sorted(lines_of(run)["a.py"])
    [2, 4]
    """
    bits = {path: f"{int(lines, 16):b}" for path, lines in run.ran}
    return {
        path: frozenset(line for line, bit in enumerate(reversed(text)) if bit == "1")
        for path, text in bits.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectLine:
    """A line, how many tests run it, and how many there are.

    In its score `e_f` and `e_p` are the failing and passing tests that run the line, `n_f` and
    `n_p` those that do not.
    """

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
    def is_everywhere(self) -> bool:
        """Whether every test runs the line, and there are enough of them for that to tell."""
        in_all = self.failing == self.all_failing and self.passing == self.all_passing
        return in_all and self.all_passing >= _TELLING


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
