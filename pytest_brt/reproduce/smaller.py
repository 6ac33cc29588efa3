"""A failing test made smaller by running variants of it: what goes must not change the failure."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from pytest_brt.code.shrink import shrink
from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.types import CandidateTest, TestRun

#: Variants of one test that are run, and wall-clock seconds for them.
_BUDGET, _SECONDS = 48, 15.0

#: Says of two runs whether they failed in the same way.
Alike = Callable[[TestRun, TestRun], bool]


def shrunk_by_running(
    test: CandidateTest,
    run: TestRun,
    engine: Engine,
    *,
    alike: Alike,
    keep: Collection[int] = (),
    allowed: Callable[[str], bool] = lambda _: True,
) -> str:
    """Return a smaller source of `test` whose run is alike to `run`, or the one that it has.

    Args:
        test: the test.
        run: how it fails.
        engine: runs the variants.
        alike: which failures are the same.
        keep: see `shrink`.
        allowed: which variants are worth being run.
    """
    source = test.source or ""
    until = time.monotonic() + _SECONDS

    def fails_alike(variants: Sequence[str]) -> list[bool]:
        if time.monotonic() > until:
            return [False] * len(variants)
        targets = tuple(
            TestTarget(id=str(number), path=test.path, source=variant, node=test.name)
            for number, variant in enumerate(variants)
            if allowed(variant)
        )
        runs = {found.test: found for found in engine.run(Row(targets=targets)).runs}
        return [
            str(number) in runs and alike(run, runs[str(number)]) for number in range(len(variants))
        ]

    return shrink(source, fails_alike, budget=_BUDGET, keep=keep)


def with_source(test: CandidateTest, source: str) -> CandidateTest:
    """Return the test that `source`, made from that of `test`, is."""
    return replace(
        test,
        id=content_id(test.issue, test.path, source),
        source=source,
        origin=replace(test.origin, parent=test.id),
    )


def is_same_error(one: TestRun, other: TestRun) -> bool:
    """Return whether two runs have the same verdict, exception and message."""
    if one.verdict is not other.verdict:
        return False
    if one.raised is None or other.raised is None:
        return one.raised is other.raised
    same = one.raised.type == other.raised.type
    return same and _steady(one.raised.message) == _steady(other.raised.message)


def is_same_place(one: TestRun, other: TestRun) -> bool:
    """Return whether two runs raised in the same function of the project, or both outside."""
    return _place(one) == _place(other)


def _place(run: TestRun) -> tuple[str, str] | None:
    last = run.raised.in_project if run.raised else None
    return (last.path, last.function) if last else None


def _steady(message: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", message)
