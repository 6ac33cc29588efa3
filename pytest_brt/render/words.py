"""Words that any sentence may need; every room above `types` may use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_brt.shown import on_a_line
from pytest_brt.types import CauseCode, Given, TestRun


def run_words(run: TestRun) -> str:
    """Return on one line why a run has its verdict."""
    if run.exercised is False and run.cause.code in (CauseCode.PASSED, CauseCode.RAISED):
        return f"{run.cause.text}; patch not exercised"
    return run.cause.text


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def count(number: int, noun: str) -> str:
    """Return a number of things, as in "1 bug test" or "2 bug tests"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cut(text: str, length: int) -> str:
    """Return text on one line of at most `length` characters, with its blanks."""
    line = on_a_line(text)
    return line if len(line) <= length else f"{line[: length - 1]}…"


def call_words(setup: Sequence[str], expression: str, gives: Iterable[Given]) -> str:
    """Return what a call gives, as in "`f(1)` gives `2` (a.diff), raises KeyError (b.diff)"."""
    inner = [line for line in setup if not line.startswith(("import ", "from "))]
    parts = []
    for one in gives:
        result = f"raises {one.raised}" if one.raised else f"gives `{cut(one.text, 80)}`"
        parts.append(f"{result} ({listed(one.patches)})")
    return f"`{cut('; '.join([*inner, expression]), 120)}` {', '.join(parts)}"
