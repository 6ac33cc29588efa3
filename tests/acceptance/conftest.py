"""What the sessions that these tests start have in common."""

from __future__ import annotations

import pytest

from tests.conftest import ONCE


@pytest.fixture
def once(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sessions run a bug test once on the unpatched tree, where agreement is no question."""
    monkeypatch.setenv("PYTEST_ADDOPTS", ONCE)
