"""What the small project has that agents of tests work on."""

from __future__ import annotations

from collections.abc import Callable

from pytest_brt.agents.workspace import Workspace

CODE = "def clamp(value, low, high):\n    return max(low, min(value, low))\n\n\nLIMIT = 3\n"
Make = Callable[..., Workspace]
