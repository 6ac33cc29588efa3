"""How often the slow tests try what is random: a tenth of it in CI, all of it on request."""

from __future__ import annotations

import os


def rounds(number: int, *, least: int = 1) -> int:
    """Return `number` with PYTEST_BRT_ALL_ROUNDS set, else a tenth of it, but `least`."""
    return number if os.environ.get("PYTEST_BRT_ALL_ROUNDS") else max(least, number // 10)
