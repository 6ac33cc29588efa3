"""How a test failed, in words."""

from __future__ import annotations

from itertools import takewhile

from pytest_brt.types import Frame, TestRun


def place_of(run: TestRun) -> str:
    """Return the last place in the project that the failure came through, and its variables.

    As in "at pkg/core.py:12 in divide, where a = 1, b = 0"; "" when the exception was raised
    by the test itself.
    """
    if run.raised is None:
        return ""
    # What lies before the test's own frame is the project too where that is pytest itself.
    inner = takewhile(lambda frame: not _is_test(frame), reversed(run.raised.frames))
    frames = [frame for frame in inner if frame.project]
    if not frames:
        return ""
    values = ", ".join(f"{name} = {value}" for name, value in run.raised.values)
    last = frames[0]
    where = f"at {last.path}:{last.line} in {last.function}"
    return f"{where}, where {values}" if values else where


def _is_test(frame: Frame) -> bool:
    return not frame.project and not frame.path.startswith(("/", "<"))
