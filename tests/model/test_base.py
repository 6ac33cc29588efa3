"""What the user decides about models travels to the process that runs one."""

from __future__ import annotations

from pytest_brt.codec import from_json, to_json
from pytest_brt.model.base import Settings


def test_settings_that_nobody_made_are_read_as_they_are() -> None:
    assert from_json(to_json(Settings()), Settings) == Settings()
