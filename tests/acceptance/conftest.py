"""What the sessions that these tests start have in common."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator

import pytest

# Sessions within this process find it imported; each takes away what it imports itself.
import pytest_brt.plugin.session  # noqa: F401
from tests.conftest import LEAN


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let other plugins warn where a session begins in this process, as they may in their own."""
    item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestDeprecationWarning"))


@pytest.fixture(autouse=True)
def goes_on() -> Iterator[None]:
    """Undo what a session does to the process that it expects to end with it."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    if signal.getsignal(signal.SIGTERM) is not handler:
        signal.signal(signal.SIGTERM, handler)
    gc.unfreeze()


@pytest.fixture
def once(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sessions run a bug test once on the unpatched tree, where agreement is no question."""
    monkeypatch.setenv("PYTEST_ADDOPTS", f"{LEAN} -o brt_repeat=1")
