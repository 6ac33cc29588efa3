"""Settings of this project's own tests."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def nothing_active(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide an activated environment and tox's: a project would run in it, or share its cache."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("TOX_ENV_DIR", raising=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the golden files be written anew."""
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/render/golden anew"
    )
