"""Settings of this project's own tests."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def nothing_active(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the environment that a developer may have activated: projects would be run with it."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
