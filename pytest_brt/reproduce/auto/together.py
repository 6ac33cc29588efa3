"""The tests of several ways in one order: what two ways agree on is likelier."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pytest_brt.oracle.judge import failure_key, rescored
from pytest_brt.reproduce.select import select
from pytest_brt.types import JudgedTest

#: What the odds of a test gain when another way found the same failure.
_GAIN = 2.0
_MOST = 0.95


def together(
    tests: Sequence[JudgedTest], keep: int | None, doubted: Collection[str] = ()
) -> tuple[JudgedTest, ...]:
    """Return the tests of all ways, best first, as `select` does.

    A candidate that fails in the same way as one of another origin becomes likelier, and says
    with which it agrees; not those with ids in `doubted`, which a model holds for wrong.
    """
    origins: dict[str, set[str]] = {}
    for item in tests:
        if item.judgement.candidate:
            origins.setdefault(_key(item), set()).add(item.test.origin.strategy)
    raised = [
        item if item.test.id in doubted else _raised(item, origins.get(_key(item), set()))
        for item in tests
    ]
    return select(raised, keep)


def _raised(item: JudgedTest, origins: set[str]) -> JudgedTest:
    others = sorted(origins - {item.test.origin.strategy})
    if not item.judgement.candidate or not others:
        return item
    odds = _GAIN * item.judgement.confidence / max(1e-9, 1 - item.judgement.confidence)
    return rescored(item, min(_MOST, odds / (1 + odds)), f"{', '.join(others)} found the same")


def _key(item: JudgedTest) -> str:
    runs = item.judgement.runs
    return failure_key(runs[0]) if runs else item.test.id
