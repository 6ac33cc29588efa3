"""How a test failed, in words."""

from __future__ import annotations

from pytest_brt.types import TestRun


def place_of(run: TestRun) -> str:
    """Return the last place in the project that the failure came through, and its variables.

    As in "at pkg/core.py:12 in divide, where a = 1, b = 0"; "" when the exception was raised
    by the test itself.
    """
    frames = [frame for frame in run.raised.frames if frame.project] if run.raised else []
    if run.raised is None or not frames:
        return ""
    values = ", ".join(f"{name} = {value}" for name, value in run.raised.values)
    last = frames[-1]
    where = f"at {last.path}:{last.line} in {last.function}"
    return f"{where}, where {values}" if values else where
