"""The strategy `none` for studies: repairs then have the tests that are given, or none."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue


def make_none(issue: Issue, index: int, _: Workbench) -> Attempt:
    """Return an attempt that considered nothing."""
    return Attempt(issue=issue.id, strategy="none", index=index, tests=())


def pytest_brt_strategies() -> Mapping[str, Strategy]:
    """Return the strategy."""
    return {"none": Strategy(attempt=make_none)}
