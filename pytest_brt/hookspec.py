"""Hooks that other plugins implement to extend pytest-brt.

They are declared in runs of ours alone, so implementations are marked as optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_brt.agents.loop import Agent
    from pytest_brt.reproduce.strategy import Strategy
    from pytest_brt.types import RunRecord


def pytest_brt_strategies(  # type: ignore[empty-body]
    config: pytest.Config,
) -> Mapping[str, Strategy | Agent]:
    """Return strategies for ``--brt-strategy``: name → how tests are made, or fixes.

    They add to those that are built in; a name that is given twice is a usage error.

    In a plugin::

        import pytest
        from pytest_brt.reproduce.strategy import Strategy

        @pytest.hookimpl(optionalhook=True)
        def pytest_brt_strategies(config):
            return {"mine": Strategy(attempt=my_attempt)}
    """


def pytest_brt_finished(record: RunRecord) -> None:
    """Look at everything that a run found out, after its last item."""
